import { crc32 } from 'node:zlib'
import type { SampleRef } from '../../protocol/sample.ts'
import { type Disk, systemDisk } from '../../src/disk.ts'
import { hasCode } from '../../src/failure.ts'
import { spoolFailure } from '../../src/spool/spool-failure.ts'

/** Larger buffers are made for one file alone: a hundred of them kept would be much memory. */
const keptBytesMax = 4 << 20
const keptMax = 128
const stepBytes = 256 << 10

/**
 * A file that was just written is still in memory, and is read at once by this thread: to hand it
 * to the system's pool of threads and back costs more than the copy. Who waits so long for a disk,
 * on average, leaves the waiting to the pool for a while, and does something else.
 */
const promptMs = 8
const poolMs = 1000
/** A single file may have been long for another reason: this thread had to wait for a core. */
const averagedOver = 8

/**
 * Of this thread's uploads. A file of 1.1 MB read so takes half the processor time of `readFile`,
 * which reads into new memory, and leaves less work to the collector (measured).
 */
const spare: Buffer[] = []

export interface WantedFile {
  readonly path: string
  readonly sample: SampleRef
  /** Whether its checksum is computed; its length is always looked at. */
  readonly sum: boolean
}

/** Reads the spool's files in the way that fits the disk. */
export class SpoolReader {
  readonly #now: () => number
  readonly #disk: Disk
  #averageMs = 0
  #poolUntil = Number.NEGATIVE_INFINITY

  /** @param now  milliseconds that only grow */
  constructor(now: () => number = () => performance.now(), disk = systemDisk) {
    this.#now = now
    this.#disk = disk
  }

  /** How the next file is read. */
  get way(): 'here' | 'pool' {
    return this.#now() < this.#poolUntil ? 'pool' : 'here'
  }

  /**
   * Lends the file's bytes where they are what its name says; undefined for a torn file, none, or
   * one that the disk has lost. The bytes are `use`'s until it settles, and not a moment longer.
   */
  async withWhole<T>(
    { path, sample, sum }: WantedFile,
    use: (bytes: Buffer | undefined) => Promise<T>,
  ): Promise<T> {
    // One byte more than is wanted tells a longer file.
    const room = roomFor(sample.bytes + 1)
    try {
      const filled = this.#fill(room, path, sample.bytes)
      const found = typeof filled === 'number' ? filled : await filled
      const bytes = room.subarray(0, sample.bytes)
      const whole = found === sample.bytes && (!sum || crc32(bytes) === sample.crc32)
      return await use(whole ? bytes : undefined)
    } finally {
      if (room.length <= keptBytesMax && spare.length < keptMax) spare.push(room)
    }
  }

  #fill(room: Buffer, path: string, want: number): number | Promise<number> {
    if (this.way === 'pool') {
      return this.#disk.fill(room, path, want).catch((error: unknown) => nothingOf(error, path))
    }
    const before = this.#now()
    const found = this.#fillHere(room, path, want)
    this.#took(before)
    return found
  }

  #fillHere(room: Buffer, path: string, want: number): number {
    try {
      return this.#disk.now.fill(room, path, want)
    } catch (error) {
      return nothingOf(error, path)
    }
  }

  #took(since: number): void {
    const now = this.#now()
    this.#averageMs += (now - since - this.#averageMs) / averagedOver
    if (this.#averageMs <= promptMs) return
    this.#averageMs = 0
    this.#poolUntil = now + poolMs
  }
}

function roomFor(bytes: number): Buffer {
  const found = spare.pop()
  if (found && found.length >= bytes) return found
  return Buffer.allocUnsafeSlow(Math.ceil(bytes / stepBytes) * stepBytes)
}

/** Gone, or lost by its disk: there is nothing of it. @throws Failure: the spool is out of order */
function nothingOf(error: unknown, path: string): 0 {
  if (hasCode(error, 'ENOENT', 'EIO')) return 0
  throw spoolFailure(error, { what: 'spooled sample cannot be read', path })
}
