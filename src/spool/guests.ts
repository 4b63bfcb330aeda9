/**
 * Fetched samples that are kept beside the spool, in a folder laid out like it. The store has all
 * of them: they share the spool's room, and make way for what the store does not have yet.
 */
import { join } from 'node:path'
import { type DiskUse, systemDiskUse } from '../disk.ts'
import type { SpooledSample } from './name.ts'
import { openSpool, type Spool } from './spool.ts'

export const guestsDir = (work: string): string => join(work, 'cache')

export class Guests {
  readonly #dir: string
  readonly #use: DiskUse
  #opened: Promise<Spool> | undefined
  #files: SpooledSample[] = []
  #bytes = 0

  constructor(work: string, use = systemDiskUse) {
    this.#dir = guestsDir(work)
    this.#use = use
  }

  /**
   * What they take. Nobody adds to them while new samples are spooled, so they are listed once.
   *
   * @throws Failure `invalid`: the folder cannot be made or read
   */
  async bytes(): Promise<number> {
    await this.#open()
    return this.#bytes
  }

  /** Once, though several ask at a time: a second list would bring back what has gone since. */
  async #open(): Promise<Spool> {
    this.#opened ??= this.#list().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return await this.#opened
  }

  async #list(): Promise<Spool> {
    const spool = await openSpool(this.#dir, this.#use)
    this.#files = [...(await spool.list()).samples]
    this.#bytes = this.#files.reduce((sum, { bytes }) => sum + bytes, 0)
    return spool
  }

  /**
   * Removes so many bytes of them, or all.
   *
   * @throws Failure `invalid`: a file cannot be removed
   */
  async makeWay(bytes: number): Promise<void> {
    const spool = await this.#open()
    const until = this.#bytes - bytes
    while (this.#bytes > until) {
      const file = this.#files.pop()
      if (!file) return
      this.#bytes -= file.bytes
      await spool.remove(file)
    }
  }
}
