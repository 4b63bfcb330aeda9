import { checkpointer } from '../actors/checkpointer/index.ts'
import { loader } from '../actors/loader/index.ts'
import { trainer } from '../actors/trainer/index.ts'
import type { SupervisorSpec } from '../protocol/child.ts'
import { backoff } from './backoff.ts'
import type { Job } from './job.ts'
import { type Prepared, type PreparedTraining, threadsFor } from './run/preflight.ts'
import { trainingIds } from './training-ids.ts'

/**
 *     training (one-for-one)
 *     ├── loader          stored samples → batches, in the order of the training
 *     ├── trainer/0       batches → steps of the drafter; asks the loader
 *     └── checkpointer    the trainer's state → the store, and back
 *
 * A lost loader reads again what was asked for. A lost trainer goes on from the newest checkpoint.
 * A lost checkpointer saves at its next time.
 */
export const training = (run: Prepared, job: Job): SupervisorSpec => {
  const { config, identity, place, plan } = run
  const { id, draftVocab, drafter, from, train } = requireTraining(run)
  const { attempts, deadlineMinutes } = config.upload
  const { work } = config
  return {
    id: 'training',
    strategy: 'one-for-one',
    restarts: { max: 3, withinMs: 60_000 },
    backoff,
    children: [
      loader(
        {
          ...{ work, store: place, attempts, deadlineMinutes, identity, train },
          dataset: config.dataset,
          limit: plan.limit,
          vocab: run.target.vocabSize,
          maxTokens: plan.maxTokens,
          follows: job.filling !== null,
          cache: { maxBytes: config.spool.maxBytes, keepFree: config.spool.keepFree },
        },
        { drainsAfter: [trainingIds.checkpointer] },
      ),
      trainer(
        {
          ...{ training: id, from, train, drafter, draftVocab, work },
          device: train.devices[0],
          threads: threadsFor(train.devices),
          target: {
            path: config.target.path,
            fingerprint: identity.target,
            stamp: run.targetStamp,
          },
          captured: identity.layers,
          paused: waitsForExtraction(run, job),
        },
        {
          id: trainingIds.trainer,
          loader: trainingIds.loader,
          checkpointer: trainingIds.checkpointer,
        },
      ),
      checkpointer({
        trainer: trainingIds.trainer,
        ...{ store: place, attempts, deadlineMinutes },
        everyMinutes: train.checkpointMinutes,
        keep: train.keep,
      }),
    ],
  }
}

/** A device does one thing at a time: what is extracted on it comes first. */
export const waitsForExtraction = ({ config, training }: Prepared, { filling }: Job): boolean => {
  const busy = filling?.computes ? config.extract.devices : []
  return training?.train.devices.some((device) => busy.includes(device)) ?? false
}

function requireTraining({ training }: Prepared): PreparedTraining {
  if (training) return training
  throw new Error('no training was prepared')
}
