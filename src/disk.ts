/**
 * The few operations that what is kept on a machine's disk is made of: spool, claims, row hashes.
 * Passed in, so that a simulator decides what a crash leaves of them. Errors are the system's, with
 * `code` and `syscall`.
 */
import {
  close,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  open,
  openSync,
  read,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import * as files from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Random } from './clock.ts'
import { syncFolderNow } from './lasting.ts'

/** A name in a folder. */
export interface Listed {
  readonly name: string
  /** False for a folder, a pipe, a link. */
  isFile(): boolean
}

/** A file that is open to be read. */
export interface ReadableFile {
  /** In bytes. */
  size(): Promise<number>
  /** Bytes from `at` on into the room; how many, 0 at the file's end. */
  read(room: Uint8Array, at: number): Promise<number>
  close(): Promise<void>
}

export interface Disk {
  /** With those above it; no error where it is there. */
  makeFolder(path: string): Promise<void>
  /** A new file of these pieces, in order. EEXIST where there is one. */
  create(path: string, parts: readonly Uint8Array[]): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** ENOENT where it is gone. */
  remove(path: string): Promise<void>
  list(path: string): Promise<readonly Listed[]>
  /** That an unprivileged process may still write to the disk that holds the path. */
  freeBytes(path: string): Promise<number>
  open(path: string): Promise<ReadableFile>
  readWhole(path: string): Promise<Buffer>
  /**
   * Reads a file's start until `want` bytes or more are in the room, or the file ends; mostly that
   * is one read. How many there are.
   */
  fill(room: Uint8Array, path: string, want: number): Promise<number>
  /** The same operations, and those that others wait for, at once. */
  readonly now: DiskNow
}

/** They block the thread, so that nothing comes between. */
export interface DiskNow {
  makeFolder(path: string): void
  /**
   * A new file. EEXIST where there is one.
   *
   * @param how  `synced`: its bytes outlive a crash of the machine
   */
  create(path: string, bytes: Uint8Array, how?: 'synced'): void
  rename(from: string, to: string): void
  /** The names in it as they are outlive a crash of the machine: see `lasting.ts`. */
  syncFolder(path: string): void
  /** No error where it is gone. */
  remove(path: string): void
  list(path: string): readonly Listed[]
  /** Undefined where the name is taken by what is no file; nobody waits for a pipe's writer. */
  readWhole(path: string): Buffer | undefined
  fill(room: Uint8Array, path: string, want: number): number
}

/** For whoever keeps files; chance makes the names of temporary ones. */
export interface DiskUse {
  readonly disk: Disk
  readonly random: Random
}

const opened = promisify(open)
const closed = promisify(close)

/** The machine's own. */
export const systemDisk: Disk = {
  makeFolder: async (path) => void (await files.mkdir(path, { recursive: true })),
  create: async (path, parts) => {
    const file = await files.open(path, 'wx')
    try {
      await writeAll(file, parts)
    } finally {
      await file.close()
    }
  },
  rename: (from, to) => files.rename(from, to),
  // Not `rm` with `force`, which asks for each file's status before it removes it.
  remove: (path) => files.unlink(path),
  list: (path) => files.readdir(path, { withFileTypes: true }),
  freeBytes: async (path) => {
    const { bavail, bsize } = await files.statfs(path)
    return bavail * bsize
  },
  open: async (path) => {
    const file = await files.open(path)
    return {
      size: async () => (await file.stat()).size,
      read: async (room, at) => (await file.read(room, 0, room.length, at)).bytesRead,
      close: () => file.close(),
    }
  },
  readWhole: (path) => files.readFile(path),
  fill: async (room, path, want) => {
    const file = await opened(path, 'r')
    try {
      let [found, got] = [0, -1]
      while (got !== 0 && found < want) {
        got = await readInto(file, room, found)
        found += got
      }
      return found
    } finally {
      await closed(file)
    }
  },
  now: {
    makeFolder: (path) => void mkdirSync(path, { recursive: true }),
    create: (path, bytes, how) =>
      writeFileSync(path, bytes, { flag: 'wx', flush: how === 'synced' }),
    rename: renameSync,
    syncFolder: syncFolderNow,
    remove: (path) => rmSync(path, { force: true }),
    list: (path) => readdirSync(path, { withFileTypes: true }),
    readWhole: (path) => {
      const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      try {
        return fstatSync(file).isFile() ? readFileSync(file) : undefined
      } finally {
        closeSync(file)
      }
    },
    fill: (room, path, want) => {
      const file = openSync(path, 'r')
      try {
        let [found, got] = [0, -1]
        while (got !== 0 && found < want) {
          got = readSync(file, room, found, room.length - found, found)
          found += got
        }
        return found
      } finally {
        closeSync(file)
      }
    },
  },
}

export const systemDiskUse: DiskUse = { disk: systemDisk, random: Math.random }

const readInto = (file: number, room: Uint8Array, at: number): Promise<number> =>
  new Promise((resolve, reject) => {
    read(file, room, at, room.length - at, at, (error, got) => {
      if (error) reject(error)
      else resolve(got)
    })
  })

/** The system may take fewer bytes than it was given, as it does beyond 2 GiB. */
export async function writeAll(
  file: Pick<files.FileHandle, 'writev'>,
  parts: readonly Uint8Array[],
): Promise<void> {
  let left = parts.filter((part) => part.length > 0)
  while (left.length > 0) {
    const { bytesWritten } = await file.writev(left)
    left = after(left, bytesWritten)
  }
}

function after(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes
  const left: Uint8Array[] = []
  for (const part of parts) {
    if (skip < part.length) left.push(part.subarray(skip))
    skip = Math.max(0, skip - part.length)
  }
  return left
}
