/**
 * Samples that were fetched, kept on this machine's disk for the next epoch. It fills up and stays:
 * every epoch asks for everything once, so what were removed for another's sake would be missed
 * just as often.
 */
import { readFile } from 'node:fs/promises'
import { explain, hasCode, isFailure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { ManifestEntry } from '../manifest/entry.ts'
import { freeBytes, openSpool, type Spool } from '../spool/spool.ts'

export interface CacheLimits {
  /** Bytes that it may hold. */
  readonly maxBytes: number
  /** Bytes that its disk keeps free, whoever else writes there. */
  readonly keepFree: number
}

export class SampleCache {
  readonly #spool: Spool
  readonly #limits: CacheLimits
  readonly #log: Log
  #bytes: number
  /** False once the disk has refused a file: what is there is still read. */
  #takesMore = true

  constructor(
    spool: Spool,
    bytes: number,
    of: { readonly limits: CacheLimits; readonly log: Log },
  ) {
    this.#spool = spool
    this.#bytes = bytes
    this.#limits = of.limits
    this.#log = of.log
  }

  /**
   * A cache's folder is laid out like a spool, and is no one's but the cache's.
   *
   * @throws Failure `invalid`: the folder cannot be made or read
   */
  static async open(dir: string, limits: CacheLimits, log: Log): Promise<SampleCache> {
    const spool = await openSpool(dir)
    const { samples, temps } = await spool.list()
    for (const temp of temps) await spool.discard(temp)
    const bytes = samples.reduce((sum, sample) => sum + sample.bytes, 0)
    return new SampleCache(spool, bytes, { limits, log })
  }

  /** What it holds. */
  get bytes(): number {
    return this.#bytes
  }

  async read(entry: ManifestEntry): Promise<Uint8Array | undefined> {
    return await readLocal(this.#spool, entry)
  }

  /** Keeps a sample that is known to be good, where there is room. */
  async offer(entry: ManifestEntry, bytes: Uint8Array): Promise<void> {
    if (!this.#takesMore || this.#bytes + bytes.length > this.#limits.maxBytes) return
    // Counted before it is written, so that several at once do not pass the bound together.
    this.#bytes += bytes.length
    try {
      if ((await freeBytes(this.#spool.dir)) - bytes.length >= this.#limits.keepFree) {
        await this.#spool.add({ ...fileOf(entry), parts: [bytes] })
        return
      }
    } catch (error) {
      if (!isFailure(error)) throw error
      this.#takesMore = false
      this.#log.warn({ reason: explain(error) }, 'fetched samples are kept on this disk no more')
    }
    this.#bytes -= bytes.length
  }

  /** It was damaged. */
  async drop(entry: ManifestEntry): Promise<void> {
    await this.#spool.remove(fileOf(entry))
    this.#bytes -= entry.length
  }
}

/** A sample's file in a folder laid out like a spool; undefined where there is none to be read. */
export async function readLocal(
  spool: Pick<Spool, 'path'>,
  entry: ManifestEntry,
): Promise<Uint8Array | undefined> {
  try {
    return await readFile(spool.path(fileOf(entry)))
  } catch (error) {
    // Gone, or out of this thread's reach for now: the store has it too.
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EIO', 'EACCES', 'EMFILE', 'ENFILE')) return undefined
    throw error
  }
}

const fileOf = ({ hash, tokens, length, crc32 }: ManifestEntry) => ({
  hash,
  tokens,
  bytes: length,
  crc32,
})
