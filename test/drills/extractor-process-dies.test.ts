import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ActorStatus } from '../../protocol/console.ts'
import type { Crash } from '../../supervisors/drills/rig/crash.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { statusWhen } from '../../supervisors/drills/rig/socket.ts'
import { readStored } from '../../supervisors/drills/rig/stored.ts'
import { layOutJob } from '../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'
import { limitMemory } from '../support/memory-limit.ts'

/** Under `isolation: process` a native fault takes the extractor along, and nothing else. */

const isolated = { isolation: 'process' } as const
const some = { rows: 100 }

/** Of actors that have a process of their own. */
function pidsIn(actors: ActorStatus | null): readonly number[] {
  if (!actors) return []
  return [...(actors.pid === null ? [] : [actors.pid]), ...actors.children.flatMap(pidsIn)]
}

const faults: readonly { readonly end: Crash['end']; readonly signal: string }[] = [
  { end: 'abort', signal: 'SIGABRT' },
  { end: 'memory', signal: 'SIGKILL' },
]

for (const { end, signal } of faults) {
  test(`${end} in an extractor's process: it starts again, only its batch is lost`, async (t) => {
    const wanted = await undisturbed(t, some)
    const job = await layOutJob(t, { ...some, ...isolated })
    const crash = { at: 'extractor.computed', hit: 3, end } as const
    const run = start(t, ['run', job.config], { ...job, crash })
    if (end === 'memory') {
      const { actors } = await statusWhen(run, job, (status) => pidsIn(status.actors).length === 2)
      for (const pid of pidsIn(actors)) limitMemory(t, pid, 512 << 20)
    }
    const { code, stderr } = await run.ended()
    assert.equal(code, 0, stderr)
    assert.doesNotMatch(stderr, /the process died/)
    assert.match(stderr, new RegExp(`"child":"extractor/\\d".*ended by ${signal}.*"restarting"`))
    await assertAsIfUndisturbed(job, wanted)
  })
}

/** Batches of two rows. */
const few = { rows: 16, tokens: { min: 20, max: 40 }, tokenBudget: 80 }

test('poison: the one sample that aborts its process each time is found', async (t) => {
  const wanted = await undisturbed(t, few)
  const poison = wanted.entries[5].hash
  const job = await layOutJob(t, { ...few, ...isolated })
  const during = { spool: join(job.work, 'spool'), hashes: [poison] }
  const crash = { at: 'spool.before-rename', during, end: 'abort', always: true } as const
  const { code, stderr } = await start(t, ['run', job.config], { ...job, crash }).ended()
  assert.equal(code, 1, stderr)
  assert.doesNotMatch(stderr, /the process died/)
  const { entries } = await readStored(job)
  assert.deepEqual(
    entries.map(({ hash, status }) => ({ hash, status })),
    wanted.entries.map(({ hash }) => ({
      hash,
      status: hash === poison ? 'quarantined' : 'stored',
    })),
  )
})
