import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ActorStatus } from '../../../protocol/console.ts'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { ask, statusWhen } from '../../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../../support/crash/job.ts'

const actorOf = (of: ActorStatus | null, id: string): ActorStatus | undefined =>
  of?.id === id ? of : of?.children.map((at) => actorOf(at, id)).find((at) => at !== undefined)

const trainerOf = (of: ActorStatus | null) => actorOf(of, 'trainer/0')
const extractorOf = (of: ActorStatus | null) => actorOf(of, 'extractor/0')

/** The lines that the trainer itself has written. */
const written = ({ work }: Job): number =>
  readFileSync(join(work, 'logs', 'draftsmith.jsonl'), 'utf8').split('"actor":"trainer/0"').length -
  1

test('set: a setting comes to an extractor’s process in the midst of a batch', async (t) => {
  const job = await layOutJob(t, { extractors: 1, isolation: 'process' })
  // Room was granted for all of the batch before the change: nobody but itself can hold it up. It
  // looks before each sample, and has begun the first few by then.
  const crash = { slow: { at: 'extractor.busy', ms: 700 } }
  const run = start(t, ['run', job.config], { ...job, crash })
  const first = await statusWhen(run, job, ({ actors }) =>
    /^b\d+: [2-9]\d rows/.test(extractorOf(actors)?.busy?.work ?? ''),
  )
  const pid = extractorOf(first.actors)?.pid
  assert.ok(pid && pid !== first.pid)
  assert.match(await ask(job, 'set spool.keepFree 900TB'), /is 900 TB from now on/)
  await statusWhen(run, job, ({ actors }) =>
    / waits: the disk has too little room/.test(extractorOf(actors)?.work ?? ''),
  )
  assert.match(await ask(job, 'kill extractor/0'), new RegExp(`process ${pid}, was ended`))
  await ask(job, 'set spool.keepFree 1MB')
  const committed = (first.ledger?.committed ?? 0) + 22
  await statusWhen(run, job, ({ ledger }) => (ledger?.committed ?? 0) >= committed)
  await ask(job, 'stop')
  const { code, stderr } = await run.ended()
  assert.equal(code, 5, stderr)
})

test('set: a setting comes to a trainer’s process, and to its next one', async (t) => {
  // A line is written every second step.
  const train = {
    ...{ epochs: 100, layers: 1, blockSize: 4, anchors: 8, isolation: 'process' },
    ...{ tokensPerStep: 256, tokensPerBatch: 128, heldOut: 0.1, heldOutEvery: 2 },
  }
  const job = await layOutJob(t, { rows: 40, tokens: { min: 20, max: 60 }, train })
  const run = start(t, ['run', job.config], job)
  const after = async (steps: number) => {
    const { training } = await statusWhen(run, job, () => true)
    const step = (training?.trainer.step ?? 0) + steps
    return await statusWhen(run, job, ({ training }) => (training?.trainer.step ?? 0) >= step)
  }
  const first = trainerOf((await statusWhen(run, job, () => written(job) > 2)).actors)
  assert.match(await ask(job, 'set log.level error'), /is error from now on/)
  // What was under way when it was told may have written its line.
  await after(2)
  const before = written(job)
  await after(8)
  assert.equal(written(job), before)

  assert.match(await ask(job, 'kill trainer/0'), new RegExp(`process ${first?.pid}, was ended`))
  const isBack = (at: ActorStatus | undefined) => at?.restarts === 1 && at.state === 'running'
  const next = await statusWhen(run, job, ({ actors }) => isBack(trainerOf(actors)))
  assert.notEqual(trainerOf(next.actors)?.pid, first?.pid)
  await after(8)
  assert.equal(written(job), before)
  await ask(job, 'set log.level info')
  await statusWhen(run, job, () => written(job) > before)
  await ask(job, 'stop')
  const { code, stderr } = await run.ended()
  assert.equal(code, 5, stderr)
})
