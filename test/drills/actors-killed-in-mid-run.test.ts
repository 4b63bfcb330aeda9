import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActorStatus, RunStatus } from '../../protocol/console.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { ask, statusWhen } from '../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'

/** Every order comes in mid-run: extractors get no further than about half of the batches. */
const crash = {
  slow: { at: 'extractor.computed', ms: 50 },
  hold: { at: 'extractor.computed', hit: 10 },
}

const actorsIn = (at: ActorStatus | null): ActorStatus[] =>
  at ? [at, ...at.children.flatMap(actorsIn)] : []

/** How often each actor has restarted that has. */
const restartsIn = ({ actors }: RunStatus): Record<string, number> =>
  Object.fromEntries(
    actorsIn(actors)
      .filter(({ restarts }) => restarts > 0)
      .map(({ id, restarts }) => [id, restarts]),
  )

const isRunning = ({ actors }: RunStatus, id: string): boolean =>
  actorsIn(actors).some((actor) => actor.id === id && actor.state === 'running')

for (const kind of ['file', 's3'] as const) {
  test(`${kind}: actors killed by order start again, and the run ends complete`, async (t) => {
    const wanted = await undisturbed(t)
    const job = await layOutJob(t, { uploaders: 2, ...(kind === 's3' && { s3: await startS3(t) }) })
    const run = start(t, ['run', job.config], { ...job, crash })
    const killed: Record<string, number> = {}
    for (const actor of ['extractor/0', 'uploader/0', 'ledger', 'reader', 'ledger']) {
      await statusWhen(run, job, ({ state }) => state === 'running')
      assert.match(await ask(job, `kill ${actor}`), /was ended/)
      killed[actor] = (killed[actor] ?? 0) + 1
      const again = await statusWhen(
        run,
        job,
        (status) => isRunning(status, actor) && restartsIn(status)[actor] === killed[actor],
      )
      assert.deepEqual(restartsIn(again), killed)
    }
    run.letGo()
    const { code, stderr } = await run.ended()
    assert.equal(code, 0, stderr)
    assert.doesNotMatch(stderr, /the process died|no answer in time|cannot be ended/)
    await assertAsIfUndisturbed(job, wanted)
  })
}
