/**
 * Which training a run has, and what it was begun with: settled when it begins, found again by
 * whoever goes on with it.
 */
import { z } from 'zod'
import { Failure, isFailure } from '../failure.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterConfigJson } from '../models/drafter-config-json.ts'
import { putBytes } from '../store/put-confirmed.ts'
import type { ObjectStore } from '../store/store.ts'

const recordKey = 'drafter/training.json'
const configKey = 'drafter/config.json'

const recordSchema = z.object({
  format: z.literal(2),
  /** Its id. */
  training: z.string().min(1),
  /** The tokens that can be drafted, by their ids of the target, rising; null: all. */
  draftVocab: z.array(z.int().nonnegative()).min(1).nullable(),
  /** The checkpoint of an earlier training that it began from; null: from chance. */
  from: z.string().nullable(),
  /** What it was told by the configuration, as far as later starts are compared with that. */
  settings: z.record(z.string(), z.unknown()),
})

export type TrainingRecord = Readonly<z.output<typeof recordSchema>>

/** What lies in the store in the record's place, so that it alone is replaced. */
export interface Sight {
  readonly record: TrainingRecord
  readonly etag: string | undefined
}

/**
 * Undefined: none has begun.
 *
 * @throws Failure `corrupt`: what the store says of it cannot be read
 */
export async function readTraining(store: ObjectStore): Promise<Sight | undefined> {
  // The etag first: what is read after it is the same or a later one, which no put replaces.
  const info = await store.head(recordKey)
  const bytes = info && (await store.get(recordKey))
  if (!info || !bytes) return undefined
  try {
    return { record: recordSchema.parse(JSON.parse(bytes.toString('utf8'))), etag: info.etag }
  } catch (cause) {
    throw new Failure('corrupt', `${recordKey} cannot be read. store=${store.url}`, {
      cause,
      remedy: `Remove ${recordKey}, then name the checkpoint to go on from: train --from NAME.`,
    })
  }
}

export interface Replacing {
  /** What was there when it was decided to begin; undefined: nothing. */
  readonly instead: Sight | undefined
  /**
   * Whether the store honours conditions, as a probe of it has shown. Where it does not, of two
   * starts at one moment the later put stays, which both find unless they look before it.
   */
  readonly conditional: boolean
}

/**
 * Makes it the training of the run.
 *
 * @returns  false: another has begun one meanwhile
 */
export async function beginTraining(
  store: ObjectStore,
  record: Omit<TrainingRecord, 'format'>,
  over: Replacing,
): Promise<boolean> {
  const bytes = jsonBytes(recordSchema.parse({ format: 2, ...record }))
  const isPut = await put(store, bytes, over)
  if (isPut && !(await isWhole(store))) await putBytes(store, recordKey, bytes)
  // Read back in any case: another may have been faster, or the answer to our own put lost.
  return (await readTraining(store))?.record.training === record.training
}

async function put(
  store: ObjectStore,
  bytes: Buffer,
  { conditional, instead }: Replacing,
): Promise<boolean> {
  if (conditional && !instead) return await store.putIfAbsent(recordKey, bytes)
  if (conditional && instead?.etag !== undefined) {
    return await store.putIfMatch(recordKey, bytes, instead.etag)
  }
  await putBytes(store, recordKey, bytes)
  return true
}

/** A store may keep less than it was sent, and say nothing. */
async function isWhole(store: ObjectStore): Promise<boolean> {
  try {
    return (await readTraining(store)) !== undefined
  } catch (error) {
    if (isFailure(error, 'corrupt')) return false
    throw error
  }
}

/** Puts the drafter's configuration beside the record, where it is not there as it is now. */
export async function keepDrafterConfig(store: ObjectStore, drafter: DrafterConfig): Promise<void> {
  const bytes = jsonBytes(drafterConfigJson(drafter, 'float32'))
  if (!(await store.get(configKey))?.equals(bytes)) await putBytes(store, configKey, bytes)
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)
