/** Files on a disk that other programs write to as well. */
import { open, rename, rm } from 'node:fs/promises'
import { formatBytes } from '../config/sizes.ts'
import { Failure } from '../failure.ts'
import { probe } from '../probe.ts'
import { freeBytes } from '../spool/spool.ts'

export class DiskRoom {
  readonly #dir: string
  readonly #keepFree: number
  readonly #free: () => Promise<number>
  /** Bytes of files under way: the disk may not tell of them yet. */
  #writing = 0

  /**
   * @param keepFree  bytes that the disk keeps, whoever writes on it
   * @param free      bytes free now
   */
  constructor(dir: string, keepFree: number, free = () => freeBytes(dir)) {
    this.#dir = dir
    this.#keepFree = keepFree
    this.#free = free
  }

  /** @throws Failure `unavailable`: so many bytes more would leave too little */
  async require(bytes: number): Promise<void> {
    this.#check(bytes, await this.#free())
  }

  #check(bytes: number, free: number): void {
    if (free - this.#writing - bytes >= this.#keepFree) return
    const facts = {
      want: formatBytes(bytes),
      free: formatBytes(free),
      keepFree: formatBytes(this.#keepFree),
      dir: this.#dir,
    }
    const told = Object.entries(facts).map(([key, value]) => `${key}=${value}`)
    throw new Failure('unavailable', `the disk has too little room. ${told.join(', ')}`, {
      remedy: 'Free room, name a folder elsewhere, or lower --keep-free; what is there stays.',
    })
  }

  /** Written whole and synced before it has its name: that it is there is the proof of it. */
  async write(path: string, parts: readonly Uint8Array[]): Promise<void> {
    const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
    const temporary = `${path}.partial`
    const free = await this.#free()
    // With nothing in between: of two that both look, one counts before the other does.
    this.#check(bytes, free)
    this.#writing += bytes
    try {
      await writeSynced(temporary, parts)
      probe('export.before-rename')
      await rename(temporary, path)
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined)
      throw error
    } finally {
      this.#writing -= bytes
    }
  }
}

export async function writeSynced(path: string, parts: readonly Uint8Array[]): Promise<void> {
  await using file = await open(path, 'w')
  for (const part of parts) await file.writeFile(part)
  await file.sync()
}
