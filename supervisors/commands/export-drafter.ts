import { basename, resolve } from 'node:path'
import { type KeptEvaluation, keptEvaluation } from '../../src/checkpoint/evaluation.ts'
import { parseConfig } from '../../src/config/load.ts'
import { drafterCard, drafterWarnings } from '../../src/export/card.ts'
import { type CheckpointToExport, checkpointToExport } from '../../src/export/checkpoint.ts'
import { writeFolder } from '../../src/export/folder.ts'
import { headRows } from '../../src/export/head-rows.ts'
import { type WeightType, zlabFiles } from '../../src/export/zlab.ts'
import { isFailure } from '../../src/failure.ts'
import { type Log, openLog } from '../../src/log.ts'
import { storedDataset } from '../../src/run/dataset-copy.ts'
import type { Run } from '../../src/run/identity.ts'
import { configKey } from '../../src/run/stored-run.ts'
import { solePermits } from '../../src/store/patient.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { consoleTarget } from '../log-target.ts'
import { type StoreOptions, s3Here, storeOfRun } from '../store-of-run.ts'
import { targetAtHand } from './target-at-hand.ts'

/** `export STORE_URL DIR`: a drafter, for whoever serves it. */

export interface ExportDrafterOptions extends StoreOptions {
  /** Null: the newest complete checkpoint. */
  readonly checkpoint: number | null
  readonly dtype: WeightType
  readonly target?: string
  readonly overwrite: boolean
  readonly parallel: number
  readonly json: boolean
}

interface Told {
  readonly dir: string
  readonly checkpoint: string
  readonly step: number
  /** Simulated on held-out samples while it was trained; null where it was not. */
  readonly tau: number | null
  /** What `eval` found of it; null where nothing was kept. */
  readonly evaluation: KeptEvaluation | null
  /** False: it was there already. */
  readonly written: boolean
  readonly warnings: readonly string[]
}

export async function exportDrafter(
  url: string,
  dir: string,
  options: ExportDrafterOptions,
): Promise<number> {
  const acquire = solePermits(options.parallel)
  const place = { url, s3: s3Here(options) }
  const { store, run, configText } = await storeOfRun(place, { actor: 'export', acquire })
  const log = openLog({ ...consoleTarget, actor: 'export' })
  const found = await checkpointToExport(store, {
    step: options.checkpoint,
    onHalf: (half) => log.warn(half, 'a checkpoint is passed over: it is not complete'),
  })
  const { drafter, checkpoint } = found
  const { head, warnings } = await headOf(found, { run, options })
  const evaluation = await evaluationKept(store, { name: checkpoint.name, log })
  const { dtype } = options
  const card = drafterCard({
    config: drafter.config,
    dtype,
    target: { name: basename(run.targetPath), fingerprint: run.identity.target },
    data: { fingerprint: (await storedDataset(store))?.fingerprint ?? null, split: found.split },
    training: {
      ...checkpoint.state,
      checkpoint: checkpoint.name,
      settings: settingsIn(configText),
      evaluation,
    },
  })
  const files = zlabFiles({ ...drafter, head }, { dtype, card })
  const told: Told = {
    dir: resolve(dir),
    checkpoint: checkpoint.name,
    step: checkpoint.step,
    tau: checkpoint.state.tau,
    evaluation,
    written: await writeFolder(resolve(dir), files, options),
    warnings: [...drafterWarnings(drafter.config), ...warnings],
  }
  for (const warning of told.warnings) log.warn(warning)
  process.stdout.write(`${options.json ? JSON.stringify(told) : text(told)}\n`)
  return 0
}

/** One that cannot be read is told: the drafter is good without it. */
async function evaluationKept(
  store: ObjectStore,
  { name, log }: { readonly name: string; readonly log: Log },
): Promise<KeptEvaluation | null> {
  try {
    return (await keptEvaluation(store, name)) ?? null
  } catch (err) {
    if (!isFailure(err, 'corrupt')) throw err
    log.warn({ err }, 'the card goes without what eval found')
    return null
  }
}

/** Of a drafter with a vocabulary of its own; others have all of the target's. */
async function headOf(
  { drafter }: CheckpointToExport,
  { run, options }: { readonly run: Run; readonly options: ExportDrafterOptions },
): Promise<{ readonly head: Float32Array | null; readonly warnings: readonly string[] }> {
  if (drafter.draftVocab === null) return { head: null, warnings: [] }
  const target = await targetAtHand(run, options.target)
  if (target) return { head: await headRows(target, drafter.draftVocab), warnings: [] }
  const warning = 'without --target its rows of the target’s head are left out, and vLLM wants them'
  return { head: null, warnings: [warning] }
}

function settingsIn(configText: string | undefined): unknown {
  if (configText === undefined) return null
  return parseConfig(configText, { name: configKey, base: '/' }).config.train ?? null
}

function text({ dir, checkpoint, evaluation, step, tau, written }: Told): string {
  const decoded = evaluation ? `, τ ${evaluation.tau.toFixed(2)}` : ''
  const simulated = tau === null ? '' : `, simulated τ ${tau.toFixed(2)}`
  const measured = `${decoded}${simulated}`
  const done = written ? 'is exported to' : 'was there already:'
  return `The drafter of step ${step} ${done} ${dir} (checkpoint ${checkpoint}${measured})`
}
