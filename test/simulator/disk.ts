import { basename, dirname } from 'node:path'
import type { Disk, DiskNow, Listed, ReadableFile } from '../../src/disk.ts'
import type { Life, World } from './world.ts'

/**
 * A machine's disk. What a process wrote outlives it; a crash of the machine leaves of what was not
 * synced, and not long ago, whatever chance leaves of it.
 */

interface Kept {
  bytes: Buffer
  writtenAt: number
  synced: boolean
}

/** A new name that a folder has not written down yet. */
interface Renamed {
  readonly from: string
  readonly kept: Kept
  readonly replaced: Kept | undefined
  readonly at: number
}

/** A system writes back by itself what is older. */
const writtenBackMs = 30_000
const opMaxMs = 4
const roomy = 1e12

export class SimulatedDisk {
  readonly #world: World
  readonly files = new Map<string, Kept>()
  readonly #folders = new Set<string>()
  /** Removed, and not yet for certain. */
  readonly #ghosts = new Map<string, { readonly kept: Kept; readonly removedAt: number }>()
  /** By the new name, and not yet for certain: few folders are synced. */
  readonly #renamed = new Map<string, Renamed>()
  /** Until then no byte more fits. */
  fullUntil = 0
  /** The next file that is spooled is damaged as it comes. */
  rotsNext = false
  /** Called where a life reads what is not there. */
  onMissing: (path: string, life: Life) => void = () => undefined
  /** Called before a file goes by an operation of the product. */
  onRemove: (path: string, bytes: Buffer) => void = () => undefined

  constructor(world: World) {
    this.#world = world
  }

  /** As one who lives on this machine sees it. */
  for(life: Life): Disk {
    return new Mounted(this, life)
  }

  get world(): World {
    return this.#world
  }

  /** A new disk takes its place. */
  lose(): void {
    this.files.clear()
    this.#folders.clear()
    this.#ghosts.clear()
    this.#renamed.clear()
  }

  /** The machine crashes. */
  crash(): void {
    const { now } = this.#world
    for (const [to, renamed] of this.#renamed) {
      if (now - renamed.at <= writtenBackMs) this.#undo(to, renamed)
    }
    this.#renamed.clear()
    for (const [path, kept] of [...this.files]) {
      if (kept.synced || now - kept.writtenAt > writtenBackMs) continue
      this.#torn(path, kept)
    }
    for (const [path, { kept, removedAt }] of this.#ghosts) {
      const comesBack = now - removedAt <= writtenBackMs && this.#world.draw() < 0.3
      if (comesBack && !this.files.has(path)) this.files.set(path, kept)
    }
    this.#ghosts.clear()
  }

  /** By chance the file has its old name again, and the one in whose place it came is there. */
  #undo(to: string, { from, kept, replaced }: Renamed): void {
    if (this.files.get(to) !== kept || this.#world.draw() >= 0.3) return
    this.#world.tell(() => `disk: ${basename(to)} has its old name`)
    this.files.delete(to)
    this.files.set(from, kept)
    if (replaced) this.files.set(to, replaced)
  }

  #torn(path: string, kept: Kept): void {
    const chance = this.#world.draw()
    if (chance < 0.4) return
    this.#world.tell(() => `disk: ${basename(path)} is not whole`)
    if (chance < 0.6) this.files.delete(path)
    else if (chance < 0.8) this.#cut(kept)
    else kept.bytes = Buffer.alloc(kept.bytes.length)
  }

  #damage(path: string): void {
    const kept = this.files.get(path)
    if (!kept || kept.bytes.length === 0) return
    this.#world.tell(() => `disk: ${basename(path)} rots`)
    kept.bytes = Buffer.from(kept.bytes)
    kept.bytes[this.#world.below(kept.bytes.length)] ^= 0x5a
  }

  #cut(kept: Kept): void {
    kept.bytes = kept.bytes.subarray(0, this.#world.below(kept.bytes.length + 1))
  }

  makeFolder(path: string): void {
    for (let at = path; at !== dirname(at); at = dirname(at)) this.#folders.add(at)
  }

  create(path: string, bytes: Uint8Array, synced: boolean): void {
    this.#requireFolder(path, 'open')
    if (this.files.has(path)) throw failed('EEXIST', 'open', path)
    if (this.#world.now < this.fullUntil && bytes.length > 0) throw failed('ENOSPC', 'write', path)
    this.files.set(path, { bytes: Buffer.from(bytes), writtenAt: this.#world.now, synced })
  }

  /** The rest of what is being written. */
  grow(path: string, bytes: Uint8Array): void {
    const kept = this.files.get(path)
    // Removed while it was written: its bytes go nowhere.
    if (kept) kept.bytes = Buffer.from(bytes)
  }

  rename(from: string, to: string): void {
    const kept = this.files.get(from)
    if (!kept) throw failed('ENOENT', 'rename', from)
    this.#requireFolder(to, 'rename')
    this.#renamed.set(to, { from, kept, replaced: this.files.get(to), at: this.#world.now })
    this.files.delete(from)
    this.files.set(to, kept)
    if (this.rotsNext && to.endsWith('.safetensors')) {
      this.rotsNext = false
      this.#damage(to)
    }
  }

  /** What was renamed or removed there is so for certain. */
  syncFolder(folder: string): void {
    for (const changes of [this.#ghosts, this.#renamed]) {
      for (const path of changes.keys()) if (dirname(path) === folder) changes.delete(path)
    }
  }

  remove(path: string): void {
    const kept = this.files.get(path)
    if (!kept) throw failed('ENOENT', 'unlink', path)
    this.onRemove(path, kept.bytes)
    this.files.delete(path)
    this.#ghosts.set(path, { kept, removedAt: this.#world.now })
  }

  list(path: string): Listed[] {
    if (!this.#folders.has(path)) throw failed('ENOENT', 'scandir', path)
    const names = [...this.files.keys()].filter((file) => dirname(file) === path)
    return names.sort().map((file) => ({ name: basename(file), isFile: () => true }))
  }

  read(path: string): Buffer {
    const kept = this.files.get(path)
    if (!kept) throw failed('ENOENT', 'open', path)
    return kept.bytes
  }

  get freeBytes(): number {
    return this.#world.now < this.fullUntil ? 0 : roomy
  }

  #requireFolder(path: string, syscall: string): void {
    if (!this.#folders.has(dirname(path))) throw failed('ENOENT', syscall, path)
  }
}

/** Each operation takes its time, and is a moment at which its life may end. */
class Mounted implements Disk {
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

const failed = (code: string, syscall: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path })
