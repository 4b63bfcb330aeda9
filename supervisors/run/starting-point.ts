/** The checkpoint that a training goes on from, looked at before anything starts. */
import { identityOf, requireSameTraining, requireTensors } from '../../src/checkpoint/accept.ts'
import { draftVocabIn } from '../../src/checkpoint/draft-vocab.ts'
import { readHeaders } from '../../src/checkpoint/headers.ts'
import type { WholeCheckpoint } from '../../src/checkpoint/list.ts'
import { newestFirst, wholeNamed } from '../../src/checkpoint/restore.ts'
import { settingChanges, settingsOf } from '../../src/config/train-roles.ts'
import type { TrainConfig } from '../../src/config/train-schema.ts'
import { Failure, isFailure } from '../../src/failure.ts'
import { Course } from '../../src/feed/course.ts'
import { parseDataState } from '../../src/feed/data-state.ts'
import { orderSettings } from '../../src/feed/start-log.ts'
import { type DrafterConfig, parseDrafterConfig } from '../../src/models/drafter-config.ts'
import { drafterTensors } from '../../src/models/drafter-tensors.ts'
import type { RunIdentity } from '../../src/run/identity.ts'
import type { ObjectStore } from '../../src/store/store.ts'

/** A checkpoint of this run's target, which holds the tensors of its drafter and no other. */
export interface StartingPoint {
  readonly checkpoint: WholeCheckpoint
  readonly drafter: DrafterConfig
}

/**
 * The newest of a training; what is half, or has a header that fits nothing, is passed over, as the
 * trainer will. Undefined: it has none.
 *
 * @throws Failure `invalid`: it is of another target, or its tensors are not those of its drafter
 */
export async function newestPoint(
  store: ObjectStore,
  training: string,
  identity: RunIdentity,
): Promise<StartingPoint | undefined> {
  for await (const checkpoint of newestFirst(store, { training })) {
    try {
      return await lookedAt(store, checkpoint, identity)
    } catch (error) {
      if (!isFailure(error, 'corrupt')) throw error
    }
  }
  return undefined
}

/** @throws Failure `invalid`: there is none of this name, or as above; `corrupt`: it is half */
export async function namedPoint(
  store: ObjectStore,
  name: string,
  identity: RunIdentity,
): Promise<StartingPoint> {
  return await lookedAt(store, await wholeNamed(store, name), identity)
}

async function lookedAt(
  store: ObjectStore,
  checkpoint: WholeCheckpoint,
  { layers, target: fingerprint }: RunIdentity,
): Promise<StartingPoint> {
  const { name, state } = checkpoint
  const drafter = parseDrafterConfig(state.drafter, `checkpoints/${name}/state.json`)
  requireSameTraining(checkpoint, identityOf(drafter, { fingerprint, layers }))
  requireTensors(await readHeaders(store, checkpoint), drafterTensors(drafter))
  return { checkpoint, drafter }
}

/** The tokens that its drafter drafts, by their ids of the target, rising; null: all. */
export const draftedBy = async (
  store: ObjectStore,
  { checkpoint, drafter }: StartingPoint,
): Promise<readonly number[] | null> =>
  drafter.draftVocabSize === null ? null : (await draftVocabIn(store, checkpoint)).ids

/** The drafter's shape, by the names of the configuration. */
export const shapeOf = ({ drafter }: StartingPoint) => ({
  layers: drafter.layers,
  blockSize: drafter.blockSize,
  slidingWindow: drafter.slidingWindow,
  draftVocab: drafter.draftVocabSize,
  maskTokenId: drafter.maskTokenId,
})

/**
 * Another training can go on from it as it is configured.
 *
 * @throws Failure `invalid`: it is in the midst of another order of the data, or at its end
 */
export function requireUsable({ checkpoint }: StartingPoint, train: TrainConfig): void {
  const { name, state, step } = checkpoint
  const { log, plan } = parseDataState(state.data)
  const changes = settingChanges('identity', orderSettings(log), settingsOf(train))
  if (changes.length > 0) throw ofAnother(`the checkpoint's. checkpoint=${name}`, changes)
  if (!log.closed || new Course(log, train.epochs).at(plan) !== 'finished') return
  const facts = `checkpoint=${name}, step=${step}, train.epochs=${train.epochs}`
  throw new Failure('invalid', `the training of this checkpoint is finished. ${facts}`, {
    remedy: 'Raise train.epochs, name an earlier checkpoint, or begin anew with `train --new`.',
  })
}

/** @param whose  training it would have to be, as a message ends */
export const ofAnother = (whose: string, changes: readonly string[]): Failure =>
  new Failure(
    'invalid',
    [`train is configured for another training than ${whose}`, ...changes].join('\n  '),
    {
      remedy: 'Set these as they were, or begin another training with `train --new`.',
    },
  )
