/**
 * How far the manifest was written, noted beside it after each commit. Files that are gone are told
 * by those that are left; where none is left that knew of them, by this.
 */
import { z } from 'zod'
import { Failure, isFailure } from '../failure.ts'
import { putBytes } from '../store/put-confirmed.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Heads } from './heads.ts'
import { isWriterId, writtenKey } from './names.ts'

const schema = z.object({
  format: z.literal(1),
  /** Of each writer, how many segments it has written. */
  segments: z.record(z.string().refine(isWriterId), z.int().positive()),
})

/**
 * Empty where nothing was noted. To be read before the manifest is listed: what was written since
 * is no gap.
 *
 * @throws Failure `corrupt`: it is there and cannot be read
 */
export async function readWritten(store: ObjectStore): Promise<Heads> {
  const bytes = await store.get(writtenKey)
  if (!bytes) return new Map()
  try {
    return new Map(Object.entries(schema.parse(JSON.parse(bytes.toString('utf8'))).segments))
  } catch (cause) {
    throw new Failure('corrupt', `manifest file is damaged. key=${writtenKey}`, {
      remedy: 'Remove this object: it only tells what is missing, and is written anew.',
      cause,
    })
  }
}

/** A note that the store does not take harms nothing: the next commit notes more. */
export async function noteWritten(store: ObjectStore, heads: Heads): Promise<void> {
  const note: z.output<typeof schema> = { format: 1, segments: Object.fromEntries(heads) }
  try {
    await putBytes(store, writtenKey, Buffer.from(`${JSON.stringify(note)}\n`))
  } catch (error) {
    if (!isFailure(error)) throw error
  }
}
