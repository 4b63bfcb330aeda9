/**
 * Files go into the spool one by one, each once the disk has room for it: other programs write
 * there too. How much the spool itself may hold is granted elsewhere, before anything is computed.
 */
import { type Clock, sleep } from '../clock.ts'
import { explain, isFailure } from '../failure.ts'
import { type FinishedSample, freeBytes, type Spool } from './spool.ts'

/** Between two looks at a disk that was full. */
const pauseMs = 1000

export interface KeeperParts {
  readonly spool: Pick<Spool, 'dir' | 'add'>
  /** Bytes that the disk keeps, whoever else writes on it. */
  readonly keepFree: number
  readonly clock: Clock
  /** Bytes free now; default: those of the spool's disk. */
  readonly free?: () => Promise<number>
  /** From its abort on nobody waits for room any more; what has room is still written. */
  readonly signal?: AbortSignal
  /** Why files begin to wait; null when none does any more. */
  readonly onWait: (why: string | null) => void
}

/** Writes for one actor; several files at once count together. */
export class Keeper {
  readonly #parts: KeeperParts
  readonly #free: () => Promise<number>
  #keepFree: number
  /** Bytes of files under way: the disk may not tell of them yet. */
  #writing = 0
  #waiting = 0

  constructor(parts: KeeperParts) {
    this.#parts = parts
    this.#keepFree = parts.keepFree
    this.#free = parts.free ?? (() => freeBytes(parts.spool.dir))
  }

  /** From now on. */
  keepFree(bytes: number): void {
    this.#keepFree = bytes
  }

  /**
   * Waits for room, and writes; a disk that fills up in mid-file loses that file only, and it is
   * written again.
   *
   * @returns  false: told to wait no more, and there was no room
   * @throws   Failure `invalid`: the folder cannot be written
   */
  async keep(sample: FinishedSample): Promise<boolean> {
    const why = await this.#write(sample)
    if (why === null) return true
    if (this.#waiting++ === 0) this.#parts.onWait(why)
    try {
      return await this.#writeLater(sample)
    } finally {
      if (--this.#waiting === 0) this.#parts.onWait(null)
    }
  }

  async #writeLater(sample: FinishedSample): Promise<boolean> {
    const { clock, signal } = this.#parts
    for (;;) {
      if (signal?.aborted) return false
      await sleep(pauseMs, clock, signal).catch(() => undefined)
      if ((await this.#write(sample)) === null) return true
    }
  }

  /** Null where it was written; else why it cannot be now. */
  async #write(sample: FinishedSample): Promise<string | null> {
    const { spool } = this.#parts
    const keepFree = this.#keepFree
    const free = await this.#free()
    if (free - this.#writing - sample.bytes < keepFree) {
      return `the disk has too little room. keepFree=${keepFree} bytes, free=${free}`
    }
    this.#writing += sample.bytes
    try {
      await spool.add(sample)
      return null
    } catch (error) {
      if (!isFailure(error, 'unavailable')) throw error
      return explain(error)
    } finally {
      this.#writing -= sample.bytes
    }
  }
}
