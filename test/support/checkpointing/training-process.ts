/**
 * A training as a process of its own, for tests to kill: trains the toy to each multiple of
 * `every`, saves there, and prints where it ended. On SIGTERM it drains.
 */
import { randomUUID } from 'node:crypto'
import { checkpointerContract } from '../../../protocol/checkpointer.ts'
import { seededRandom, systemClock } from '../../../src/clock.ts'
import { openLog } from '../../../src/log.ts'
import { supervise } from '../../../supervisors/engine/tree.ts'
import { toyContract } from './toy-contract.ts'
import { type ToyTraining, toyTree } from './toy-tree.ts'

export interface TrainingTask extends ToyTraining {
  readonly every: number
  readonly until: number
}

const task: TrainingTask = JSON.parse(process.argv[2] ?? '')
const logTo = { level: 'info', stderr: 'json' } as const

const tree = supervise(toyTree(task), {
  clock: systemClock,
  random: seededRandom(1),
  log: openLog({ ...logTo, actor: `process/${randomUUID()}` }),
  logTo,
  onGaveUp: (failure) => {
    throw failure
  },
  onWedged: () => process.kill(process.pid, 'SIGKILL'),
})
const trainer = tree.client('trainer', toyContract)
const checkpointer = tree.client('checkpointer', checkpointerContract)
await tree.start()

const told = new AbortController()
process.once('SIGTERM', () => {
  told.abort()
  void tree.stop().then(() => process.exit(143))
})

const { step: first } = await trainer.ask.standing()
for (let step = first; step < task.until; ) {
  step = Math.min(task.until, (Math.floor(step / task.every) + 1) * task.every)
  await trainer.again((ask) => ask.trainTo(step))
  if (told.signal.aborted) break
  await checkpointer
    .again((ask) => ask.save())
    .catch((error: unknown) => {
      // One that was asked just before the drain may come just after it.
      if (!told.signal.aborted) throw error
    })
}
// The drain ends the process.
if (told.signal.aborted) await new Promise(() => undefined)
const standing = await trainer.ask.standing()
await tree.stop()
process.stdout.write(`${JSON.stringify(standing)}\n`, () => process.exit(0))
