import { createActor, fromPromise } from 'xstate'
import { checkpointerContract } from '../../protocol/checkpointer.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { loaderContract } from '../../protocol/loader.ts'
import { type StateAsk, trainerContract } from '../../protocol/trainer.ts'
import { openLearner } from '../../src/training/open-learner.ts'
import { captureOf } from './capture.ts'
import { TrainingData } from './data.ts'
import { loadMs, type TrainerInput } from './index.ts'
import { hasDrained, trainerMachine } from './machine.ts'
import { Steps } from './steps.ts'

const self = actor<TrainerInput>()
const { gate, input, log, pulse } = self
const data = new TrainingData(self.peer('loader', loaderContract))
const checkpointer = self.peer('checkpointer', checkpointerContract)

pulse.busy('loading the target’s embedding', loadMs)
const learner = await openLearner(input, gate)
pulse.idle()

const steps = new Steps({ input, learner, data, checkpointer, pulse, log })
const life = createActor(
  trainerMachine.provide({
    actors: {
      restore: fromPromise(() => steps.restore()),
      gather: fromPromise(() => steps.gather()),
      compute: fromPromise(({ input: batches }) => steps.compute(batches)),
      measure: fromPromise(() => steps.measure()),
    },
  }),
  { input },
).start()

/** What was asked for last: all that came while a step kept the thread are here by then. */
let newest: StateAsk | undefined

self.serve(trainerContract, () => ({
  state: (ask) => {
    newest = ask
    return captureOf(ask, {
      ...{ data, input, learner, progress: steps.progress },
      isAwaited: () => newest === ask,
    })
  },
  pause: (paused) => life.send({ type: paused ? 'pause' : 'continue' }),
  status: () => {
    const { context, value } = life.getSnapshot()
    return steps.status(value.work, context.failure)
  },
}))
self.live({
  drain: async () => {
    life.send({ type: 'drain' })
    await hasDrained(life)
    steps.end()
    await learner.release()
  },
  status: () => ({ work: steps.work(life.getSnapshot().value.work) }),
})
