import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Random, seededRandom } from '../../../src/clock.ts'
import { type DatasetRow, writeDataset } from '../../../src/dataset/write.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { endAll } from '../../../supervisors/drills/rig/process.ts'
import { credentials, type S3Process } from '../../../supervisors/drills/rig/s3-process.ts'
import { smallVocab, writeSmallTarget } from '../small-target.ts'

/** A small whole job on disk: target, dataset, configuration, work folder. */

export interface JobOptions {
  readonly rows?: number
  readonly tokens?: { readonly min: number; readonly max: number }
  readonly tokenBudget?: number
  readonly uploaders?: number
  readonly maxParallel?: number
  /** Two unless given. */
  readonly extractors?: number
  /** Of the extractors; absent: threads. */
  readonly isolation?: 'thread' | 'process'
  /** Of the configuration; absent: nothing is trained. */
  readonly train?: Readonly<Record<string, unknown>>
  /** Absent: a folder. */
  readonly s3?: Pick<S3Process, 'endpoint'>
}

const datasetSeed = 7
const bytesPerToken = 5 * 96 * 2

/**
 * Lies in a folder that goes when the test ends, and with it all that was started there. The
 * dataset is the same for the same numbers.
 */
export async function layOutJob(t: TestContext, options: JobOptions = {}): Promise<Job> {
  const { rows = 300, tokens = { min: 2, max: 120 }, tokenBudget = 512, s3 } = options
  const { extractors = 2, isolation = 'thread', uploaders = 1, maxParallel = 8, train } = options
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-crash-'))
  t.after(() => {
    endAll(dir)
    // What was killed may write a last time.
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
  })
  const [target, dataset, work] = ['target', 'dataset', 'work'].map((name) => join(dir, name))
  mkdirSync(work)
  await writeSmallTarget(target)
  await writeDataset(dataset, { rows: randomRows(rows, tokens), count: rows, shards: 2 })
  const storeUrl = s3 ? 's3://draftsmith/run' : pathToFileURL(join(dir, 'store')).href
  const config = join(dir, 'config.json')
  const batchBytes = tokenBudget * bytesPerToken
  writeFileSync(
    config,
    JSON.stringify({
      store: storeUrl,
      ...(s3 && { s3: { endpoint: s3.endpoint } }),
      work,
      dataset: { path: dataset },
      target: { path: target },
      extract: {
        devices: Array(extractors).fill('cpu'),
        isolation,
        tokenBudget,
        maxTokens: Math.min(tokenBudget, 512),
      },
      upload: { threads: uploaders, maxParallel },
      // Small steps and a small spool: each start gets on by a part of the job only.
      commit: { every: 10, seconds: 1 },
      spool: { keepFree: '1MB', maxBytes: Math.ceil(batchBytes * 2.5) + 200_000 },
      ...(train && { train }),
    }),
  )
  return {
    dir,
    config,
    work,
    target,
    dataset,
    storeUrl,
    storeArgs: s3 ? ['--endpoint', s3.endpoint] : [],
    env: s3 ? credentials : {},
    openStore: () => openStore(storeUrl, s3 ? { endpoint: s3.endpoint } : {}, { env: credentials }),
  }
}

function* randomRows(count: number, tokens: { min: number; max: number }): Generator<DatasetRow> {
  const random = seededRandom(datasetSeed)
  for (let row = 0; row < count; row++) {
    const length = whole(random, tokens)
    const inputIds = Int32Array.from({ length }, () =>
      whole(random, { min: 0, max: smallVocab - 1 }),
    )
    yield { inputIds, lossMask: new Uint8Array(length).fill(1) }
  }
}

/** Both ends included. */
export const whole = (random: Random, { min, max }: { min: number; max: number }): number =>
  min + Math.floor(random() * (max - min + 1))
