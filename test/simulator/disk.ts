import { basename, dirname } from 'node:path'
import type { Disk, Listed } from '../../src/disk.ts'
import { Mounted } from './mounted.ts'
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
const roomy = 1e12

export class SimulatedDisk {
  readonly #world: World
  readonly files = new Map<string, Kept>()
  readonly #folders = new Set<string>()
  /** Removed, and not yet for certain. */
  readonly #ghosts = new Map<string, { readonly kept: Kept; readonly removedAt: number }>()
  /** By the new name. */
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
    const replaced = this.files.get(to)
    this.#renamed.set(to, { from, kept, replaced, at: this.#world.now })
    this.files.delete(from)
    this.files.set(to, kept)
    if (this.rotsNext && to.endsWith('.safetensors')) {
      this.rotsNext = false
      this.#damage(to)
    }
  }

  /** What was removed there is so for certain, and the names that were given. */
  syncFolder(folder: string): void {
    for (const names of [this.#ghosts, this.#renamed]) {
      for (const path of names.keys()) if (dirname(path) === folder) names.delete(path)
    }
  }

  /** A file that another run has removed just before. */
  haunt(path: string, bytes: Buffer): void {
    const kept = { bytes, writtenAt: this.#world.now, synced: true }
    this.#ghosts.set(path, { kept, removedAt: this.#world.now })
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

const failed = (code: string, syscall: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path })
