/**
 * `file://`: a folder whose files are the objects. What is put is synced, with its folder, before
 * `put` answers. Temporary files, parts and locks lie in a side folder that no key reaches.
 */
import { createHash } from 'node:crypto'
import { readFileSync, renameSync } from 'node:fs'
import { open, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { hasCode } from '../failure.ts'
import { fileFailure } from './file-errors.ts'
import { walkKeys } from './file-list.ts'
import { exclusively } from './file-lock.ts'
import { openFileMultiparts, startFileMultipart } from './file-multipart.ts'
import {
  type Incoming,
  makeLastingFolder,
  publish,
  publishNew,
  removeEmptyFolders,
  sweepLeftovers,
  syncIfThere,
  writeIncoming,
} from './file-write.ts'
import { checkKey, checkPrefix, SIDE_FOLDER } from './keys.ts'
import { allPages } from './pages.ts'
import type {
  Acknowledgement,
  Body,
  ListPage,
  MultipartUpload,
  ObjectInfo,
  ObjectStore,
  PutOptions,
} from './store.ts'

const PAGE_KEYS = 1000
/**
 * An etag is the content's MD5: beyond this size nobody compares it, and reading would take long.
 */
const ETAG_BYTES_MAX = 16 << 20

export class FileStore implements ObjectStore {
  readonly url: string
  readonly #root: string
  readonly #incoming: string
  readonly #locks: string
  readonly #parts: string
  #swept: Promise<void> | undefined

  /** `root` need not exist: the first put makes it. */
  constructor(root: string) {
    this.#root = root
    this.url = pathToFileURL(root).href
    this.#incoming = join(root, SIDE_FOLDER, 'incoming')
    this.#locks = join(root, SIDE_FOLDER, 'locks')
    this.#parts = join(root, SIDE_FOLDER, 'parts')
  }

  async put(key: string, body: Body, options: PutOptions = {}): Promise<Acknowledgement> {
    return this.#guard('store', key, async (path) => {
      const incoming = await this.#write(body, options)
      await this.#orRemove(incoming, publish(incoming.path, path))
      return { crc32: incoming.crc32 }
    })
  }

  async putIfAbsent(key: string, body: Body, options: PutOptions = {}): Promise<boolean> {
    return this.#guard('store', key, async (path) =>
      publishNew((await this.#write(body, options)).path, path),
    )
  }

  async putIfMatch(
    key: string,
    body: Body,
    etag: string,
    options: PutOptions = {},
  ): Promise<boolean> {
    return this.#guard('replace', key, async (path) => {
      const incoming = await this.#write(body, options)
      await makeLastingFolder(this.#locks)
      const lock = join(this.#locks, md5(Buffer.from(key)))
      const replaced = exclusively(lock, () => {
        if (etagNow(path) !== etag) return false
        return renamedNow(incoming.path, path)
      })
      const done = await this.#orRemove(incoming, replaced)
      await (done ? syncIfThere(dirname(path)) : rm(incoming.path, { force: true }))
      return done
    })
  }

  async get(
    key: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined> {
    return this.#guard('read', key, (path) =>
      unlessAbsent(() => (range ? readStretch(path, range) : readFile(path))),
    )
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    return this.#guard('read', key, (path) =>
      unlessAbsent(async () => {
        const info = await this.#infoOf(key)
        if (!info || info.size > ETAG_BYTES_MAX) return info
        return { ...info, etag: md5(await readFile(path)) }
      }),
    )
  }

  list(prefix: string): AsyncIterable<ObjectInfo> {
    return allPages(this, prefix)
  }

  async listPage(ask: { readonly prefix: string; readonly from?: string }): Promise<ListPage> {
    checkPrefix(ask.prefix)
    try {
      const keys: string[] = []
      for await (const key of walkKeys(this.#root, { prefix: ask.prefix, after: ask.from })) {
        if (keys.push(key) > PAGE_KEYS) break
      }
      const next = keys.length > PAGE_KEYS ? keys[PAGE_KEYS - 1] : undefined
      const found = await Promise.all(keys.slice(0, PAGE_KEYS).map((key) => this.#infoOf(key)))
      const objects = found.flatMap((info) => info ?? [])
      return next === undefined ? { objects } : { objects, next }
    } catch (error) {
      throw fileFailure(error, { doing: 'list', path: this.#root })
    }
  }

  async remove(key: string): Promise<void> {
    await this.#guard('remove', key, async (path) => {
      await unlessAbsent(() => rm(path))
      await removeEmptyFolders(this.#root, key)
    })
  }

  async startMultipart(key: string): Promise<MultipartUpload> {
    return this.#guard('store', key, (path) => startFileMultipart(this.#parts, { key, path }))
  }

  async openMultiparts(prefix: string): Promise<readonly MultipartUpload[]> {
    return openFileMultiparts(this.#parts, { prefix, pathOf: (key) => join(this.#root, key) })
  }

  close(): void {}

  /** Undefined too where it went away since its folder was read. */
  async #infoOf(key: string): Promise<ObjectInfo | undefined> {
    const found = await unlessAbsent(() => stat(join(this.#root, key)))
    if (!found?.isFile()) return undefined
    return { key, size: found.size, lastModified: Math.floor(found.mtimeMs) }
  }

  async #write(body: Body, options: PutOptions): Promise<Incoming> {
    options.signal?.throwIfAborted()
    this.#swept ??= sweepLeftovers(this.#incoming, Date.now())
    await this.#swept
    return writeIncoming(this.#incoming, [body], options.crc32)
  }

  async #orRemove<T>(incoming: Incoming, publishing: Promise<T>): Promise<T> {
    try {
      return await publishing
    } catch (error) {
      await rm(incoming.path, { force: true })
      throw error
    }
  }

  async #guard<T>(doing: string, key: string, work: (path: string) => Promise<T>): Promise<T> {
    checkKey(key)
    const path = join(this.#root, key)
    try {
      return await work(path)
    } catch (error) {
      throw fileFailure(error, { doing, path })
    }
  }
}

/**
 * Undefined where there is no such file, or its name is a folder's, or a link's that leads back to
 * itself: none is an object.
 */
async function unlessAbsent<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ERR_FS_EISDIR')) return undefined
    throw error
  }
}

async function readStretch(
  path: string,
  range: { readonly start: number; readonly end: number },
): Promise<Buffer | undefined> {
  const file = await open(path)
  try {
    const found = await file.stat()
    if (!found.isFile()) return undefined
    const bytes = Buffer.alloc(Math.max(0, Math.min(range.end, found.size) - range.start))
    let done = 0
    while (done < bytes.length) {
      const at = range.start + done
      const { bytesRead } = await file.read(bytes, done, bytes.length - done, at)
      if (bytesRead === 0) break
      done += bytesRead
    }
    return bytes.subarray(0, done)
  } finally {
    await file.close()
  }
}

function etagNow(path: string): string | undefined {
  try {
    return md5(readFileSync(path))
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

/** False where what is to be replaced was removed meanwhile, and its folder with it. */
function renamedNow(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex')
