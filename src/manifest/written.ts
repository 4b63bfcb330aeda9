/**
 * How far the manifest was written, noted beside it after each commit. Files that are gone are told
 * by those that are left; where none is left that knew of them, by this.
 */
import { z } from 'zod'
import { Failure, isFailure } from '../failure.ts'
import { putBytes } from '../store/put-confirmed.ts'
import type { ObjectStore } from '../store/store.ts'
import { formatVersion, requireFormat } from './header.ts'
import type { Heads } from './heads.ts'
import { isWriterId, writtenKey } from './names.ts'

const schema = z.object({
  format: z.literal(formatVersion),
  /** Of each writer, how many segments it has written. */
  segments: z.record(z.string().refine(isWriterId), z.int().positive()),
})

/**
 * Empty where nothing was noted. To be read before the manifest is listed: what was written since
 * is no gap.
 *
 * @throws Failure `corrupt`: it is there and cannot be read; `invalid`: of another version
 */
export async function readWritten(store: ObjectStore): Promise<Heads> {
  const bytes = await store.get(writtenKey)
  if (!bytes) return new Map()
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'))
    requireFormat(json, writtenKey)
    return new Map(Object.entries(schema.parse(json).segments))
  } catch (cause) {
    if (isFailure(cause)) throw cause
    throw new Failure('corrupt', `manifest file is damaged. key=${writtenKey}`, {
      remedy: 'Remove this object: it only tells what is missing, and is written anew.',
      cause,
    })
  }
}

/** One put under way at most, and after it the newest: no commit waits for its note. */
export class WrittenNote {
  readonly #store: ObjectStore
  readonly #failed: ((failure: Failure) => void) | undefined
  #next: Heads | undefined
  #putting: Promise<void> | undefined

  /** @param failed  told why one was not noted: the next commit notes it too */
  constructor(store: ObjectStore, failed: ((failure: Failure) => void) | undefined) {
    this.#store = store
    this.#failed = failed
  }

  note(heads: Heads): void {
    this.#next = new Map(heads)
    this.#putting ??= this.#putAll().finally(() => {
      this.#putting = undefined
    })
  }

  /** Settles when the last one is there, or could not be put. */
  async settled(): Promise<void> {
    await this.#putting
  }

  async #putAll(): Promise<void> {
    while (this.#next) {
      const heads = this.#next
      this.#next = undefined
      try {
        await this.#put({ format: formatVersion, segments: Object.fromEntries(heads) })
      } catch (error) {
        if (!isFailure(error)) throw error
        this.#failed?.(error)
      }
    }
  }

  async #put(note: z.output<typeof schema>): Promise<void> {
    try {
      await putBytes(this.#store, writtenKey, Buffer.from(`${JSON.stringify(note)}\n`))
    } catch (error) {
      // Half of one would stop the next reader; none only tells him less.
      if (isFailure(error, 'corrupt')) await this.#store.remove(writtenKey)
      throw error
    }
  }
}
