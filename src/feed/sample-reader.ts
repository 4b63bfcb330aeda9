/** One sample, from wherever it is nearest: the spool, the cache, the store. */
import { entryKey, type ManifestEntry } from '../manifest/entry.ts'
import type { Spool } from '../spool/spool.ts'
import type { ObjectStore } from '../store/store.ts'
import { isUnfit, openSample, type SampleData, type Unfit } from './open-sample.ts'
import { readLocal, type SampleCache } from './sample-cache.ts'
import type { StoreAway } from './store-away.ts'
import type { StatesFormat } from './training-batch.ts'

/** What arrives damaged once may have been the line; what is not there, a late listing. */
const gets = 2

export interface ReaderParts {
  readonly format: StatesFormat
  /** One that is not there says so, and lacks nothing: see `marked`. */
  readonly store: Pick<ObjectStore, 'get'>
  readonly away: StoreAway
  /** Where files lie that are committed and not removed yet; null: there is none. */
  readonly spool: Pick<Spool, 'path'> | null
  readonly cache: SampleCache | null
}

/** How many samples came from where. */
export interface ReadCounts {
  spool: number
  cache: number
  store: number
}

export class SampleReader {
  readonly counts: ReadCounts = { spool: 0, cache: 0, store: 0 }
  readonly #parts: ReaderParts

  constructor(parts: ReaderParts) {
    this.#parts = parts
  }

  /**
   * @returns  the sample, or why it is of no use
   * @throws   Failure `unavailable`: the store stays out of reach; `invalid`: it refuses; the
   *           signal's reason
   */
  async read(entry: ManifestEntry, signal: AbortSignal): Promise<SampleData | Unfit> {
    const { spool, cache } = this.#parts
    const spooled = spool ? await this.#local(() => readLocal(spool, entry), entry) : undefined
    if (spooled && !isUnfit(spooled)) return this.#counted('spool', spooled)
    const cached = cache ? await this.#local(() => cache.read(entry), entry) : undefined
    if (cached && !isUnfit(cached)) return this.#counted('cache', cached)
    if (cached) await cache?.drop(entry)
    return await this.#fromStore(entry, signal)
  }

  async #local(
    read: () => Promise<Uint8Array | undefined>,
    entry: ManifestEntry,
  ): Promise<SampleData | Unfit | undefined> {
    const bytes = await read()
    return bytes && openSample(bytes, entry, this.#parts.format)
  }

  async #fromStore(entry: ManifestEntry, signal: AbortSignal): Promise<SampleData | Unfit> {
    const { away, cache, format, store } = this.#parts
    const key = entryKey(entry)
    // Never more than the sample has, whatever lies there.
    const range = { start: entry.offset, end: entry.offset + entry.length }
    let fact = ''
    for (let tries = 0; tries < gets; tries++) {
      const bytes = await away.until(() => store.get(key, range), signal)
      if (!bytes) {
        fact = `its object is not there. key=${key}`
        continue
      }
      const found = openSample(bytes, entry, format)
      if (!isUnfit(found)) {
        await cache?.offer(entry, bytes)
        return this.#counted('store', found)
      }
      fact = `its object is damaged. key=${key}, ${found.unfit}`
    }
    return { unfit: fact }
  }

  #counted(from: keyof ReadCounts, sample: SampleData): SampleData {
    this.counts[from]++
    return sample
  }
}
