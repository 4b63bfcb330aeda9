import { basename } from 'node:path'
import type { Disk, DiskNow, Listed, ReadableFile } from '../../src/disk.ts'
import type { SimulatedDisk } from './disk.ts'
import type { Life } from './world.ts'

/** A machine's disk as one who lives on it has it. */

const opMaxMs = 4

/** Each operation takes its time, and is a moment at which its life may end. */
export class Mounted implements Disk {
  readonly #disk: SimulatedDisk
  readonly #life: Life
  readonly now: DiskNow

  constructor(disk: SimulatedDisk, life: Life) {
    this.#disk = disk
    this.#life = life
    this.now = this.#atOnce()
  }

  makeFolder(path: string): Promise<void> {
    return this.#later('makes', path, () => this.#disk.makeFolder(path))
  }

  async create(path: string, parts: readonly Uint8Array[]): Promise<void> {
    const bytes = Buffer.concat(parts)
    const first = bytes.subarray(0, this.#disk.world.below(bytes.length + 1))
    await this.#later('begins', path, () => this.#disk.create(path, first, false))
    await this.#later('writes', path, () => this.#disk.grow(path, bytes))
  }

  rename(from: string, to: string): Promise<void> {
    return this.#later('renames', to, () => this.#disk.rename(from, to))
  }

  remove(path: string): Promise<void> {
    return this.#later('removes', path, () => this.#disk.remove(path))
  }

  list(path: string): Promise<readonly Listed[]> {
    return this.#later('lists', path, () => this.#disk.list(path))
  }

  freeBytes(path: string): Promise<number> {
    return this.#later('free', path, () => this.#disk.freeBytes)
  }

  async open(path: string): Promise<ReadableFile> {
    await this.#later('opens', path, () => this.#disk.read(path))
    return {
      size: async () => this.#disk.read(path).length,
      read: (room, at) => this.#later('reads', path, () => this.#disk.read(path).copy(room, 0, at)),
      close: async () => undefined,
    }
  }

  readWhole(path: string): Promise<Buffer> {
    return this.#later('reads', path, () => Buffer.from(this.#disk.read(path)))
  }

  fill(room: Uint8Array, path: string): Promise<number> {
    return this.#later('reads', path, () => this.#filled(room, path))
  }

  #filled(room: Uint8Array, path: string): number {
    if (!this.#disk.files.has(path)) this.#disk.onMissing(path, this.#life)
    return this.#disk.read(path).copy(room)
  }

  /** What the system has begun it ends, though who asked has ended by then. */
  #later<T>(what: string, path: string, work: () => T): Promise<T> {
    const { world } = this.#disk
    world.step(this.#life)
    return new Promise((resolve, reject) => {
      world.plan(world.draw() * opMaxMs, null, () => {
        if (!this.#life.alive && world.draw() < 0.5) return
        const settle = this.#done(`${what} ${short(path)}`, work, { resolve, reject })
        world.plan(0, this.#life, settle)
      })
    })
  }

  #done<T>(what: string, work: () => T, promise: Settling<T>): () => void {
    try {
      const value = work()
      this.#disk.world.tell(() => `disk: ${this.#life.name} ${what}`)
      return () => promise.resolve(value)
    } catch (error) {
      return () => promise.reject(error)
    }
  }

  #atOnce(): DiskNow {
    const disk = this.#disk
    const now = <T>(what: string, path: string, work: () => T): T => {
      disk.world.step(this.#life)
      const value = work()
      disk.world.tell(() => `disk: ${this.#life.name} ${what} ${short(path)}`)
      return value
    }
    return {
      makeFolder: (path) => now('makes', path, () => disk.makeFolder(path)),
      create: (path, bytes, how) =>
        now('writes', path, () => disk.create(path, bytes, how === 'synced')),
      rename: (from, to) => now('renames', to, () => disk.rename(from, to)),
      syncFolder: (path) => now('syncs', path, () => disk.syncFolder(path)),
      remove: (path) =>
        now('removes', path, () => {
          if (disk.files.has(path)) disk.remove(path)
        }),
      list: (path) => now('lists', path, () => disk.list(path)),
      readWhole: (path) => now('reads', path, () => Buffer.from(disk.read(path))),
      fill: (room, path) => now('reads', path, () => this.#filled(room, path)),
    }
  }
}

interface Settling<T> {
  resolve(value: T): void
  reject(error: unknown): void
}

/** Chance makes part of a temporary file's name. */
const short = (path: string): string => basename(path).replace(/\.[0-9a-f]{12,16}\.tmp$/, '.tmp')
