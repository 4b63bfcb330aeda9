import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { count } from '../../actors/console/numbers.ts'
import { systemClock } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import type { Dataset } from '../../src/dataset/rows.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { type LastState, lastStateOf } from '../../src/export/last-state.ts'
import { type ExportedSamples, exportSamples } from '../../src/export/speculators.ts'
import { Failure } from '../../src/failure.ts'
import { openLog } from '../../src/log.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { requireDataset } from '../../src/run/dataset-copy.ts'
import type { Run } from '../../src/run/identity.ts'
import { configKey } from '../../src/run/stored-run.ts'
import { solePermits } from '../../src/store/patient.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { Tally } from '../display/tally.ts'
import { fetchedDataset } from '../keeping/fetched-dataset.ts'
import { consoleTarget } from '../log-target.ts'
import { type StoreOptions, s3Here, storeOfRun } from '../store-of-run.ts'
import { firstLines } from './first-lines.ts'
import { targetAtHand } from './target-at-hand.ts'

/** `export STORE_URL DIR --format speculators`: the samples, for another trainer's loader. */

export interface ExportSamplesOptions extends StoreOptions {
  /** Where the dataset's copy is, or is kept; undefined: in the export, while it is under way. */
  readonly work?: string
  readonly target?: string
  /** The last of the states that were kept is laid out as it is, whatever it is. */
  readonly lastAsIs: boolean
  readonly overwrite: boolean
  readonly keepFree: number
  readonly parallel: number
  readonly json: boolean
}

/** Of the trainer that is to read them: its layer k is the state after k layers. */
interface Told extends ExportedSamples {
  readonly dir: string
  readonly targetLayerIds: readonly number[]
}

export async function exportForSpeculators(
  url: string,
  dir: string,
  options: ExportSamplesOptions,
): Promise<number> {
  const acquire = solePermits(options.parallel)
  const opened = await storeOfRun({ url, s3: s3Here(options) }, { actor: 'export', acquire })
  const { store, run, configText } = opened
  if (configText === undefined) throw withoutConfig(store.url)
  const { config } = parseConfig(configText, { name: `${url}/${configKey}`, base: resolve(dir) })
  const lastState = await lastOf(run, options)
  const { files, fingerprint } = await requireDataset(store)
  const copy = join(...(options.work === undefined ? [dir, '.dataset'] : [options.work, 'dataset']))
  const table = await openManifest(store, {
    writer: newWriterId(systemClock, Math.random),
  }).replay()
  let tally: Tally | undefined
  const exported = await exportSamples(
    resolve(dir),
    {
      ...{ store, table, dtype: run.identity.dtype, lastState },
      dataset: {
        bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
        open: () => datasetIn(store, resolve(copy), config),
      },
      marker: { run: run.id, dataset: fingerprint, lastState: lastState.kind },
    },
    {
      ...options,
      progress: (samples) => {
        tally = new Tally('exported', samples)
        return tally.one
      },
    },
  )
  tally?.end()
  if (options.work === undefined) await rm(copy, { recursive: true, force: true })
  const told = { ...exported, dir: resolve(dir), targetLayerIds: theirLayers(run) }
  process.stdout.write(`${options.json ? JSON.stringify(told) : exportedText(told)}\n`)
  return exported.differ.length === 0 ? 0 : 1
}

async function lastOf(run: Run, options: ExportSamplesOptions): Promise<LastState> {
  if (options.lastAsIs) return { kind: 'as stored' }
  return await lastStateOf(run.identity, await targetAtHand(run, options.target))
}

/** Fetched to `copy`, or there already. */
async function datasetIn(store: ObjectStore, copy: string, config: Config): Promise<Dataset> {
  const log = openLog({ ...consoleTarget, actor: 'export' })
  const path = await fetchedDataset(store, copy, log)
  return openDataset(path, { split: null, columns: config.dataset.columns })
}

const withoutConfig = (store: string): Failure =>
  new Failure('invalid', `the store holds no ${configKey}. store=${store}`, {
    remedy: 'Run once more where it began: it puts there what is missing.',
  })

/** All but the last state, which the loader takes for itself. */
const theirLayers = ({ identity: { captureFinal, layers } }: Run): number[] =>
  (captureFinal ? layers : layers.slice(0, -1)).map((layer) => layer + 1)

function exportedText(told: Told): string {
  const { dir, rows, written, there, shared, without, differ, targetLayerIds } = told
  const lines = [
    ...firstLines(differ.map(({ key, problem }) => `${key}: ${problem}`)),
    `${count(written)} samples written to ${dir}, ${count(there)} were there;`,
    `  of ${count(rows)} rows ${count(shared)} share one, ${count(without)} have none`,
  ]
  if (differ.length > 0) lines.push(`${count(differ.length)} differ in the store: see verify`)
  const layers = `--target-layer-ids ${targetLayerIds.join(' ')}`
  lines.push(`For speculators: --data-path ${dir} --on-missing skip ${layers}`)
  return lines.join('\n')
}
