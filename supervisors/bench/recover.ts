import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { randomRows } from '../../src/dataset/random-rows.ts'
import { writeDataset } from '../../src/dataset/write.ts'
import { writeRandomTarget } from '../../src/models/random-target.ts'
import { parseSpoolName } from '../../src/spool/name.ts'
import { inFreshProcess, startProcess } from './fresh.ts'
import type { BenchReport } from './report.ts'
import { type ServedS3, serveS3 } from './served-s3.ts'

/** How soon a new machine computes again, when nearly all of a big job is done. */

export interface RecoverSizes {
  readonly entries: number
  readonly repeats: number
}

/** Rows that are left to compute: more than all repeats take. */
const rowsLeft = 5000
const lengths = { meanTokens: 284, sigma: 0.9, tokensMin: 8, tokensMax: 2048 }
/** Small: what is measured is all that comes before it. */
const smallTarget = {
  layers: 8,
  hiddenSize: 64,
  intermediateSize: 128,
  vocabSize: 8192,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
}
const main = fileURLToPath(new URL('../main.js', import.meta.url))
const lookMs = 5
const deadlineMs = 5 * 60_000

export async function benchRecover(
  folder: string,
  { entries, repeats }: RecoverSizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  const [target, dir] = [join(folder, 'small-target'), join(folder, `job-${entries}`)]
  if (!existsSync(join(target, 'config.json'))) {
    await writeRandomTarget(target, { ...smallTarget, dtype: 'BF16', seed: 0 })
  }
  if (!existsSync(dir)) await makeJob(dir, { target, entries }, note)
  await using s3 = await serveS3(dir)
  const seconds: number[] = []
  for (let repeat = 1; repeat <= repeats; repeat++) {
    note(`new machine ${repeat} of ${repeats}`)
    const work = join(folder, 'new-machine')
    const args = ['resume', s3.url, '--endpoint', s3.endpoint, '--work', work, '--target', target]
    seconds.push(await untilItComputes({ args, env: s3.env, work }))
    await rm(work, { recursive: true, force: true })
  }
  return {
    bench: 'recover',
    sizes: { entries, 'rows left': rowsLeft, repeats },
    method: [
      'A job of which so many samples are committed lies on the embedded S3 server, a process of',
      'its own: dataset, configuration, row hashes and manifest; what was committed is made up.',
      'Each repeat is `draftsmith resume` in an empty work folder, from the start of the process',
      'until the first new sample lies in the spool. The target is small, the dataset is not.',
    ],
    figures: [
      {
        name: 'first new sample of a new machine',
        unit: 's',
        values: seconds,
        target: { below: 10 },
      },
    ],
  }
}

/** A first machine begins the job; what it would have done in hours is written for it. */
async function makeJob(
  dir: string,
  { target, entries }: { readonly target: string; readonly entries: number },
  note: (text: string) => void,
): Promise<void> {
  const [unfinished, first] = [`${dir}.tmp`, `${dir}.first`]
  await rm(unfinished, { recursive: true, force: true })
  await rm(first, { recursive: true, force: true })
  const count = entries + rowsLeft
  note(`making a dataset of ${count} rows`)
  const dataset = join(first, 'dataset')
  const rows = randomRows({ ...lengths, rows: count, vocab: smallTarget.vocabSize, seed: 0 })
  await writeDataset(dataset, { rows, count, shards: 4 })
  {
    await using s3 = await serveS3(unfinished)
    note('the first machine begins')
    await begin(s3, { first, dataset, target })
    note(`writing a manifest of ${entries} entries`)
    await inFreshProcess({
      script: new URL('./recover-made.js', import.meta.url),
      args: [s3.url, s3.endpoint, dataset, `${entries}`],
      env: s3.env,
    })
  }
  await rm(first, { recursive: true })
  await rename(unfinished, dir)
}

async function begin(
  { url, endpoint, env }: ServedS3,
  { first, dataset, target }: { first: string; dataset: string; target: string },
): Promise<void> {
  const work = join(first, 'work')
  await mkdir(work, { recursive: true })
  const config = {
    store: url,
    s3: { endpoint, region: 'us-east-1' },
    work,
    dataset: { path: dataset },
    target: { path: target },
    extract: { devices: ['cpu'], tokenBudget: 4096 },
    spool: { keepFree: '100MB', maxBytes: '1GB' },
  }
  const path = join(first, 'config.yaml')
  await writeFile(path, stringify(config))
  await untilItComputes({ args: ['run', path], env, work })
}

interface Machine {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly work: string
}

/**
 * Seconds from its start to its first sample; then it drains and ends.
 *
 * @throws Error: it ended before, or did not come so far
 */
async function untilItComputes({ args, env, work }: Machine): Promise<number> {
  const begun = performance.now()
  const running = startProcess({ command: process.execPath, args: [main, ...args], env })
  running.stdout.resume()
  const ended = running.ended.then(() => 'ended' as const)
  for (;;) {
    if (holdsSample(join(work, 'spool'))) break
    const passed = performance.now() - begun
    const how = passed > deadlineMs ? 'late' : await Promise.race([ended, pause(lookMs)])
    if (how === undefined) continue
    await running.kill()
    throw new Error(`a machine computed nothing. how=${how}, args=${args.join(' ')}`)
  }
  const seconds = (performance.now() - begun) / 1000
  await running.stop()
  return seconds
}

const holdsSample = (spool: string): boolean =>
  existsSync(spool) && readdirSync(spool).some((name) => parseSpoolName(name) !== undefined)
