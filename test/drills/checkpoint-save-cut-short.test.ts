/**
 * A training's process is killed in each phase of saving a checkpoint, again and again: it goes on
 * from the highest one that is whole, never from a half one, and ends with the same bits as if it
 * had never been disturbed (B45, B47; promise 8 of the design).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restoreNamed } from '../../src/checkpoint/restore.ts'
import { startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { type ToyJob, toyJob } from '../support/checkpointing/job.ts'
import type { ToyStanding } from '../support/checkpointing/toy-contract.ts'

const every = 2
interface Moment {
  readonly at: string
  readonly hit: number
  readonly saves: number
}

/**
 * Mostly in the second save of a start, which by then has seen one through. Of each save five parts
 * are put: two of the model, three of its moments. `saves`: so many are whole afterwards.
 */
const moments: readonly Moment[] = [
  { at: 'checkpoint.captured', hit: 2, saves: 1 },
  { at: 'store.part-put', hit: 9, saves: 1 },
  { at: 'checkpoint.optimizer-put', hit: 2, saves: 1 },
  { at: 'checkpoint.state-put', hit: 2, saves: 2 },
  { at: 'checkpoint.hint-put', hit: 2, saves: 2 },
  { at: 'checkpoint.state-removed', hit: 1, saves: 1 },
  { at: 'checkpoint.optimizer-removed', hit: 1, saves: 1 },
]
const restoredLast = every * moments.reduce((sum, { saves }) => sum + saves, 0)
/** Some saves more than those that were cut short. */
const until = restoredLast + 3 * every

const newest = async (job: ToyJob): Promise<number> =>
  (await job.checkpoints()).whole.at(-1)?.step ?? 0

async function ended(job: ToyJob): Promise<ToyStanding> {
  const { code, stdout, stderr } = await job.start(until).ended()
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

test('killed in each phase of a save, and ended as if never disturbed', async (t) => {
  const calm = await toyJob(t, { every })
  const wanted = await ended(calm)
  const steps = new Map(calm.steps().map((step) => [step.step, step]))
  assert.equal(steps.size, until)
  for (const s3 of [undefined, await startS3(t)]) {
    const job = await toyJob(t, { every, ...(s3 && { s3 }) })
    for (const moment of moments) await killedAt(job, moment)
    const { restoredAt, ...found } = await ended(job)
    assert.equal(restoredAt, restoredLast)
    assert.deepEqual({ ...found, restoredAt: 0 }, wanted)
    for (const step of job.steps()) assert.deepEqual(step, steps.get(step.step))
    await assertAllInOrder(job)
  }
})

async function killedAt(job: ToyJob, { saves, ...crash }: Moment): Promise<void> {
  const before = await newest(job)
  const { signal, stderr } = await job.start(until, { ...crash, end: 'process' }).ended()
  assert.equal(signal, 'SIGKILL', `${crash.at}: ${stderr}`)
  assert.equal(await newest(job), before + every * saves, crash.at)
  for (const name of (await job.checkpoints()).half) {
    const expected = { tensors: [], drafter: {}, target: {} }
    const named = restoreNamed(job.store, { name, expected })
    await assert.rejects(named, { kind: 'corrupt', message: /not complete/ }, crash.at)
  }
}

async function assertAllInOrder(job: ToyJob): Promise<void> {
  const { whole } = await job.checkpoints()
  assert.deepEqual(
    whole.map(({ step }) => step),
    [until - every, until],
  )
  const hint = JSON.parse(String(await job.store.get('checkpoints/latest.json')))
  assert.equal(hint.name, whole.at(-1)?.name)
  assert.deepEqual(await job.store.openMultiparts(''), [], 'no part is left (B26)')
}

test('SIGTERM in mid-training: what was trained last is saved, no part is left', async (t) => {
  const job = await toyJob(t, { every: 10, s3: await startS3(t) })
  const running = job.start(1_000_000, { slow: { at: 'store.part-put', ms: 100 } })
  await running.until('a checkpoint', async () => ((await newest(job)) > 0 ? true : undefined))
  running.signal('SIGTERM')
  const { code, stderr } = await running.ended()
  assert.equal(code, 143, stderr)
  const last = job.steps().at(-1)?.step
  const { whole, half } = await job.checkpoints()
  assert.deepEqual([whole.at(-1)?.step, half], [last, []])
  assert.deepEqual(await job.store.openMultiparts(''), [])
})
