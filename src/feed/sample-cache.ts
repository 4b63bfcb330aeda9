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
  /** Bytes that it may hold, together with what lies in the spool. */
  readonly maxBytes: number
  /** Bytes that its disk keeps free, whoever else writes there. */
  readonly keepFree: number
}

export interface CacheParts {
  readonly limits: CacheLimits
  /** What waits in the spool for the store. */
  readonly waiting: Pick<Spool, 'list'>
  /** Whether nothing new is spooled: where something is, the room is the spool's. */
  readonly mayGrow: () => boolean
  readonly log: Log
}

/** So many files are taken between two looks at what waits in the spool. */
const lookEvery = 64

export class SampleCache {
  readonly #spool: Spool
  readonly #parts: CacheParts
  #limits: CacheLimits
  #bytes: number
  /** Of files that are being written: the disk may not tell of them yet. */
  #writing = 0
  #waitingBytes = 0
  #offers = 0
  #granting: Promise<unknown> = Promise.resolve()
  /** False once the disk has refused a file: what is there is still read. */
  #takesMore = true

  constructor(spool: Spool, bytes: number, parts: CacheParts) {
    this.#spool = spool
    this.#bytes = bytes
    this.#parts = parts
    this.#limits = parts.limits
  }

  /**
   * A cache's folder is laid out like a spool, and is no one's but the cache's.
   *
   * @throws Failure `invalid`: the folder cannot be made or read
   */
  static async open(dir: string, parts: CacheParts): Promise<SampleCache> {
    const spool = await openSpool(dir)
    const { samples, temps } = await spool.list()
    for (const temp of temps) await spool.discard(temp)
    return new SampleCache(spool, bytesOf(samples), parts)
  }

  /** From now on; what it holds stays. */
  limit(limits: Partial<CacheLimits>): void {
    this.#limits = { ...this.#limits, ...limits }
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
    if (!this.#takesMore || !this.#parts.mayGrow()) return
    try {
      // One by one: none is granted room that another was granted meanwhile.
      const granted = this.#granting.then(() => this.#grant(bytes.length))
      this.#granting = granted.catch(() => undefined)
      if (await granted) await this.#write(entry, bytes)
    } catch (error) {
      if (!isFailure(error)) throw error
      this.#takesMore = false
      const reason = explain(error)
      this.#parts.log.warn({ reason }, 'fetched samples are kept on this disk no more')
    }
  }

  async #grant(bytes: number): Promise<boolean> {
    const limits = this.#limits
    const { waiting } = this.#parts
    if (this.#offers++ % lookEvery === 0) {
      this.#waitingBytes = bytesOf((await waiting.list()).samples)
    }
    // What is being written by now, the disk may or may not have told of.
    const writing = this.#writing + bytes
    if (this.#bytes + this.#waitingBytes + bytes > limits.maxBytes) return false
    if ((await freeBytes(this.#spool.dir)) - writing < limits.keepFree) return false
    this.#bytes += bytes
    this.#writing += bytes
    return true
  }

  async #write(entry: ManifestEntry, bytes: Uint8Array): Promise<void> {
    try {
      await this.#spool.add({ ...fileOf(entry), parts: [bytes] })
    } catch (error) {
      this.#bytes -= bytes.length
      throw error
    } finally {
      this.#writing -= bytes.length
    }
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

const bytesOf = (samples: readonly { readonly bytes: number }[]): number =>
  samples.reduce((sum, { bytes }) => sum + bytes, 0)
