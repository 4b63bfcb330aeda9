/**
 * Which training a run has, and what it drafts from: settled when it begins, found again by whoever
 * goes on with it.
 */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import type { DraftVocab } from '../models/draft-vocab.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterConfigJson } from '../models/drafter-config-json.ts'
import { putBytes } from '../store/put-confirmed.ts'
import type { ObjectStore } from '../store/store.ts'

const recordKey = 'drafter/training.json'
const configKey = 'drafter/config.json'

const recordSchema = z.object({
  format: z.literal(1),
  /** Its id. */
  training: z.string().min(1),
  /** The tokens that can be drafted, by their ids of the target, rising; null: all. */
  draftVocab: z.array(z.int().nonnegative()).min(1).nullable(),
  /** The checkpoint of an earlier training that it began from; null: from chance. */
  from: z.string().nullable(),
})

export type TrainingRecord = Readonly<z.output<typeof recordSchema>>

export interface TrainingWanted {
  /** Of the training, should one begin: whoever asks again with it finds the one it has begun. */
  readonly id: string
  readonly drafter: DrafterConfig
  /** Begin another, whatever there is: the checkpoints of earlier ones stay. */
  readonly anew: boolean
  /**
   * A checkpoint to begin another from. Under the id of its own training the higher steps of that
   * one would win at the next start.
   */
  readonly from: string | null
  /** Asked for a new training whose drafter drafts from a part of the vocabulary. */
  readonly chooseVocab: () => Promise<DraftVocab>
}

/**
 * The run's training; or a new one where it has none yet, whose drafter's configuration is put
 * beside it.
 *
 * @throws  Failure `corrupt`: what the store says of it cannot be read
 */
export async function claimTraining(
  store: ObjectStore,
  { id, drafter, anew, from, chooseVocab }: TrainingWanted,
): Promise<TrainingRecord> {
  const found = await readTraining(store)
  const isWanted = found?.training === id || (!anew && from === null)
  if (found && isWanted) return found
  const draftVocab = drafter.draftVocabSize === null ? null : (await chooseVocab()).ids
  const record = {
    format: 1,
    training: id,
    draftVocab: draftVocab && [...draftVocab],
    from,
  } as const
  await putBytes(store, configKey, jsonBytes(drafterConfigJson(drafter, 'float32')))
  await putBytes(store, recordKey, jsonBytes(record))
  return record
}

/** Undefined: none has begun. @throws Failure `corrupt` */
async function readTraining(store: ObjectStore): Promise<TrainingRecord | undefined> {
  const bytes = await store.get(recordKey)
  if (!bytes) return undefined
  try {
    return recordSchema.parse(JSON.parse(bytes.toString('utf8')))
  } catch (cause) {
    throw new Failure('corrupt', `${recordKey} cannot be read. store=${store.url}`, {
      cause,
      remedy: 'Remove it and name the checkpoint to go on from, or begin a training anew.',
    })
  }
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)
