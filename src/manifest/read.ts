/** Manifest files from a store, in bounded memory: small ones whole, big ones a batch at a time. */
import { eachOf } from '../each-of.ts'
import type { ObjectStore } from '../store/store.ts'
import type { EntryRows } from './entry.ts'
import type { Header } from './header.ts'
import { decodeBatch, decodeOpening, type Opening, openingLength } from './segment.ts'

/** As a listing gives it. */
export interface ManifestObject {
  readonly key: string
  readonly size: number
}

/** Up to here one request reads all of a file that is wanted. */
const wholeBytes = 8 << 20
const openingBytes = 64 << 10
/** Requests at once: enough to hide a store's latency, few beside the uploads. */
export const readersMax = 8

/** A file that was opened; its entries are not read yet. */
export interface OpenedObject {
  readonly header: Header
  /**
   * Hands over every batch, checked. False where the file went away meanwhile.
   *
   * @param atOnce  requests; with one, a thread that others wait for has a turn after each batch
   */
  read(take: (rows: EntryRows) => void, atOnce?: number): Promise<boolean>
}

/**
 * Undefined where the file has gone since it was listed: a compaction may take it at any time.
 *
 * @param use  whether the entries will be read too, as far as is known
 * @throws Failure `corrupt`: damaged; `unavailable`, `invalid`: as the store says
 */
export async function openObject(
  store: ObjectStore,
  object: ManifestObject,
  use: 'entries' | 'header' = 'entries',
): Promise<OpenedObject | undefined> {
  const whole = object.size <= (use === 'entries' ? wholeBytes : openingBytes)
  const start = await store.get(object.key, whole ? undefined : { start: 0, end: openingBytes })
  if (!start) return undefined
  const length = openingLength(start)
  const enough = whole || length <= start.length || length > object.size
  const bytes = enough ? start : await store.get(object.key, { start: 0, end: length })
  if (!bytes) return undefined
  const opening = decodeOpening(bytes, {
    key: object.key,
    size: whole ? bytes.length : object.size,
  })
  const slice = (range: { readonly start: number; readonly end: number }) =>
    whole ? Promise.resolve(bytes.subarray(range.start, range.end)) : store.get(object.key, range)
  return {
    header: opening.header,
    read: (take, atOnce = readersMax) =>
      readBatches(opening, { key: object.key, slice, take, atOnce }),
  }
}

async function readBatches(
  opening: Opening,
  from: {
    readonly key: string
    readonly slice: (range: Opening['ranges'][number]) => Promise<Uint8Array | undefined>
    readonly take: (rows: EntryRows) => void
    readonly atOnce: number
  },
): Promise<boolean> {
  let complete = true
  const readOne = async ([number, range]: readonly [number, Opening['ranges'][number]]) => {
    const bytes = complete ? await from.slice(range) : undefined
    if (bytes) from.take(decodeBatch(opening, { key: from.key, number, bytes }))
    else complete = false
  }
  await eachOf(opening.ranges.entries(), from.atOnce, readOne)
  return complete
}
