import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Windows } from '../../../src/audit/windows.ts'
import { type Random, seededRandom } from '../../../src/clock.ts'
import type { Crash } from '../../../supervisors/drills/rig/crash.ts'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import type { Running } from '../../../supervisors/drills/rig/process.ts'
import { windowsOf } from '../../../supervisors/drills/rig/stored.ts'
import { whole } from './job.ts'

/** Ten moments at which a machine may go away, in an order and at counts that a seed decides. */

const seedMax = 2 ** 31
/** DRAFTSMITH_TEST_SEED repeats what a failure printed. */
const seed = Number(process.env.DRAFTSMITH_TEST_SEED ?? Math.floor(Math.random() * seedMax))

/** Together they leave work for the last of them: each lets some of 300 samples through. */
function tenCrashes(random: Random): Crash[] {
  const some = (min: number, max: number) => whole(random, { min, max })
  const moments: Crash[] = [
    { afterMs: some(50, 500) },
    { afterMs: some(500, 1200) },
    { at: 'extractor.computed', hit: some(1, 3) },
    { at: 'spool.before-rename', hit: some(1, 12) },
    { at: 'spool.renamed', hit: some(1, 12) },
    { at: 'uploader.put', hit: some(1, 8) },
    { at: 'ledger.stored', hit: some(5, 20) },
    { at: 'manifest.before-put', hit: some(1, 2) },
    { at: 'manifest.put', hit: some(1, 2) },
    { at: 'ledger.removed', hit: some(1, 15) },
  ]
  return shuffled(moments, random).map((moment) => ({ ...moment, end: 'all' }))
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = items.map((item) => ({ item, at: random() }))
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item)
}

/**
 * Starts a job so often, ten times at most, and has all its processes killed each time.
 *
 * @returns  after how many deaths each window was found open
 */
export async function killAgainAndAgain(
  t: TestContext,
  how: {
    readonly times: number
    /** The job as it is started next, on whatever machine. */
    readonly next: () => Job
    readonly start: (job: Job, crash: Crash) => Running
  },
): Promise<Windows> {
  const met = { beforeRename: 0, beforeCommit: 0, beforeRemoval: 0, unnamed: 0 }
  for (const crash of tenCrashes(seededRandom(seed)).slice(0, how.times)) {
    const job = how.next()
    const { code, signal, stderr } = await how.start(job, crash).ended()
    const facts = `seed=${seed}, crash=${JSON.stringify(crash)}, code=${code}`
    assert.equal(signal, 'SIGKILL', `it was not killed. ${facts}\n${stderr}`)
    const windows = await windowsOf(job)
    if (windows.beforeRename > 0) met.beforeRename++
    if (windows.beforeCommit > 0) met.beforeCommit++
    if (windows.beforeRemoval > 0) met.beforeRemoval++
    if (windows.unnamed > 0) met.unnamed++
  }
  t.diagnostic(`seed=${seed}, deaths that left a window open: ${JSON.stringify(met)}`)
  return met
}
