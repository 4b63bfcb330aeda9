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
 * is no gap. Of one that is damaged, as a crash may leave it, what stands before the damage.
 *
 * @param damaged  told that it is, and what is known of it yet
 * @throws Failure `invalid`: of another version
 */
export async function readWritten(
  store: ObjectStore,
  damaged?: (failure: Failure) => void,
): Promise<Heads> {
  const bytes = await store.get(writtenKey)
  if (!bytes) return new Map()
  const text = bytes.toString('utf8')
  try {
    const json: unknown = JSON.parse(text)
    requireFormat(json, writtenKey)
    return new Map(Object.entries(schema.parse(json).segments))
  } catch (cause) {
    if (isFailure(cause)) throw cause
    const left = readStart(text)
    damaged?.(damagedNote({ bytes: bytes.length, writers: left.size }, cause))
    return left
  }
}

const damagedNote = (left: { bytes: number; writers: number }, cause: unknown): Failure =>
  new Failure(
    'corrupt',
    'what tells how far the manifest is written is damaged. ' +
      `key=${writtenKey}, bytes=${left.bytes}, writers that it still tells of=${left.writers}`,
    {
      remedy:
        'Nothing need be done, it is written anew. Only the loss of a last segment of the other ' +
        'writers would not be noticed: samples that it alone named are extracted again.',
      cause,
    },
  )

/** A count that is cut short tells less than was written, never more. */
function readStart(text: string): Heads {
  const format = /^\{"format":(?<format>\d+),/.exec(text)?.groups?.format
  if (format === undefined) return new Map()
  requireFormat({ format: Number(format) }, writtenKey)
  const counts = new Map<string, number>()
  const start = text.indexOf('"segments":{')
  const next = /"(?<writer>[^"]*)":(?<count>[1-9]\d{0,14}),?/y
  next.lastIndex = start < 0 ? text.length : start + '"segments":{'.length
  for (let at = next.exec(text); at?.groups; at = next.exec(text)) {
    const { writer = '', count } = at.groups
    if (isWriterId(writer)) counts.set(writer, Number(count))
  }
  return counts
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
        // The newest writers first: they are what the start of a damaged one should tell of.
        const segments = Object.fromEntries([...heads].sort().reverse())
        await this.#put({ format: formatVersion, segments })
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
      // None is told of in fewer words than half of one.
      if (isFailure(error, 'corrupt')) await this.#store.remove(writtenKey)
      throw error
    }
  }
}
