import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isHalf, listCheckpoints, lookInto } from '../../../src/checkpoint/list.ts'
import { openStore } from '../../../src/store/open.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import type { Crash } from '../../../supervisors/drills/rig/crash.ts'
import { endAll, type Running, start } from '../../../supervisors/drills/rig/process.ts'
import { credentials, type S3Process } from '../../../supervisors/drills/rig/s3-process.ts'
import type { ToyStep } from './toy-contract.ts'
import { notesIn } from './toy-tree.ts'
import type { TrainingTask } from './training-process.ts'

/** A toy training on disk, started as often as a test likes. */

const program = fileURLToPath(new URL('./training-process.js', import.meta.url))

export interface ToyJob {
  readonly store: ObjectStore
  /** Trains until the step. */
  start(until: number, crash?: Crash): Running
  /** What each step was like, in the order they were done; those done again stand twice. */
  steps(): readonly ToyStep[]
  /** Names below `checkpoints/`, by whether they are whole. */
  checkpoints(): Promise<{ readonly whole: readonly Found[]; readonly half: readonly string[] }>
}

interface Found {
  readonly name: string
  readonly step: number
}

/** @param s3  absent: a folder */
export async function toyJob(
  t: TestContext,
  options: { readonly s3?: S3Process; readonly every: number },
): Promise<ToyJob> {
  const { s3, every } = options
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-training-'))
  t.after(() => {
    endAll(dir)
    // What was killed may write a last time.
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
  })
  const work = join(dir, 'work')
  await mkdir(work)
  const url = s3 ? 's3://draftsmith/run' : pathToFileURL(join(dir, 'store')).href
  const place = { url, s3: s3 ? { endpoint: s3.endpoint, region: 'us-east-1' } : {} }
  const store = await openStore(url, place.s3, { env: credentials })
  t.after(() => store.close())
  const task = { work, place, every, keep: { last: 2, every: null } }
  return {
    store,
    start: (until, crash) => {
      const args = [program, JSON.stringify({ ...task, until } satisfies TrainingTask)]
      const command = { file: process.execPath, args }
      return start(t, [], { dir, command, env: credentials, ...(crash && { crash }) })
    },
    steps: () =>
      readFileSync(notesIn(work), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    checkpoints: async () => {
      const [whole, half]: [Found[], string[]] = [[], []]
      for (const folder of await listCheckpoints(store)) {
        const found = await lookInto(store, folder)
        if (isHalf(found)) half.push(found.name)
        else whole.push({ name: found.name, step: found.step })
      }
      return { whole, half }
    },
  }
}
