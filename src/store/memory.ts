/** A store in memory, for tests: what the interface promises, and nothing else. */
import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Clock, wallClock } from '../clock.ts'
import { Failure } from '../failure.ts'
import { checkCrc, readBody } from './body.ts'
import { checkKey, checkPrefix, compareKeys } from './keys.ts'
import { allPages } from './pages.ts'
import type {
  Acknowledgement,
  Body,
  ListPage,
  MultipartUpload,
  ObjectInfo,
  ObjectStore,
  PartRef,
  PutOptions,
} from './store.ts'

interface Kept {
  readonly bytes: Buffer
  readonly info: ObjectInfo
}

/**
 * Objects in this process's memory, lost with it. `pageKeys`: keys a page of a listing, 1000 unless
 * given.
 */
export class MemoryStore implements ObjectStore {
  readonly url = 'memory:'
  readonly #objects = new Map<string, Kept>()
  readonly #uploads = new Map<string, MultipartUpload>()
  readonly #pageKeys: number
  readonly #clock: Clock

  constructor(options: { readonly pageKeys?: number; readonly clock?: Clock } = {}) {
    this.#pageKeys = options.pageKeys ?? 1000
    this.#clock = options.clock ?? wallClock
  }

  async put(key: string, body: Body, options: PutOptions = {}): Promise<Acknowledgement> {
    return this.#keep(key, await this.#take(key, body, options))
  }

  async putIfAbsent(key: string, body: Body, options: PutOptions = {}): Promise<boolean> {
    const bytes = await this.#take(key, body, options)
    if (this.#objects.has(key)) return false
    this.#keep(key, bytes)
    return true
  }

  async putIfMatch(
    key: string,
    body: Body,
    etag: string,
    options: PutOptions = {},
  ): Promise<boolean> {
    const bytes = await this.#take(key, body, options)
    if (this.#objects.get(key)?.info.etag !== etag) return false
    this.#keep(key, bytes)
    return true
  }

  async get(
    key: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined> {
    checkKey(key)
    const bytes = this.#objects.get(key)?.bytes
    return bytes && Buffer.from(range ? bytes.subarray(range.start, range.end) : bytes)
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    checkKey(key)
    return this.#objects.get(key)?.info
  }

  list(prefix: string): AsyncIterable<ObjectInfo> {
    return allPages(this, prefix)
  }

  async listPage(ask: { readonly prefix: string; readonly from?: string }): Promise<ListPage> {
    checkPrefix(ask.prefix)
    const { from } = ask
    const keys = [...this.#objects.keys()]
      .filter((key) => key.startsWith(ask.prefix))
      .filter((key) => from === undefined || compareKeys(key, from) > 0)
      .sort(compareKeys)
    const page = keys.slice(0, this.#pageKeys)
    const objects = page.flatMap((key) => this.#objects.get(key)?.info ?? [])
    const last = page.at(-1)
    return keys.length > page.length && last !== undefined ? { objects, next: last } : { objects }
  }

  async remove(key: string): Promise<void> {
    checkKey(key)
    this.#objects.delete(key)
  }

  async startMultipart(key: string): Promise<MultipartUpload> {
    checkKey(key)
    const id = randomUUID()
    const parts = new Map<number, Buffer>()
    const upload: MultipartUpload = {
      key,
      id,
      startedAt: this.#clock.now(),
      putPart: async (number, body, options = {}) => {
        const bytes = await this.#take(key, body, options)
        this.#mustBeOpen(upload)
        parts.set(number, bytes)
        return refOf(number, bytes)
      },
      listParts: async () => {
        this.#mustBeOpen(upload)
        const refs = [...parts].map(([number, bytes]) => refOf(number, bytes))
        return refs.sort((a, b) => a.number - b.number)
      },
      complete: async (refs, { crc32: want } = {}) => {
        this.#mustBeOpen(upload)
        const whole = Buffer.concat(refs.map((ref) => partOf(parts, ref, key)))
        if (want !== undefined) checkCrc(want, crc32(whole), whole)
        this.#uploads.delete(id)
        return this.#keep(key, whole)
      },
      abort: async () => {
        this.#uploads.delete(id)
      },
    }
    this.#uploads.set(id, upload)
    return upload
  }

  async openMultiparts(prefix: string): Promise<readonly MultipartUpload[]> {
    return [...this.#uploads.values()].filter((upload) => upload.key.startsWith(prefix))
  }

  close(): void {}

  #mustBeOpen({ key, id }: MultipartUpload): void {
    if (this.#uploads.has(id)) return
    throw new Failure('invalid', `upload was completed or aborted. key=${key}, upload=${id}`)
  }

  async #take(key: string, body: Body, options: PutOptions): Promise<Buffer> {
    checkKey(key)
    options.signal?.throwIfAborted()
    const bytes = Buffer.from(await readBody(body))
    if (options.crc32 !== undefined) checkCrc(options.crc32, crc32(bytes), body)
    return bytes
  }

  #keep(key: string, bytes: Buffer): Acknowledgement {
    const said = { etag: md5(bytes), crc32: crc32(bytes) }
    const info = { key, size: bytes.length, lastModified: this.#clock.now(), ...said }
    this.#objects.set(key, { bytes, info })
    return said
  }
}

const refOf = (number: number, bytes: Buffer): PartRef => ({
  number,
  etag: md5(bytes),
  size: bytes.length,
  crc32: crc32(bytes),
})

function partOf(parts: ReadonlyMap<number, Buffer>, ref: PartRef, key: string): Buffer {
  const bytes = parts.get(ref.number)
  if (bytes && md5(bytes) === ref.etag) return bytes
  throw new Failure('invalid', `upload has no such part. key=${key}, part=${ref.number}`)
}

const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex')
