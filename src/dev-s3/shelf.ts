/**
 * Where objects lie: in memory, or as files in a folder with a journal, which a server started anew
 * on that folder reads back. It survives the death of its process, not that of its machine.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { compareKeys } from '../store/keys.ts'

const heldSchema = z.object({
  bucket: z.string(),
  key: z.string(),
  size: z.number(),
  etag: z.string(),
  crc32: z.string().optional(),
  /** Milliseconds since the epoch. */
  lastModified: z.number(),
  file: z.string(),
})
const lineSchema = z.union([
  z.object({ put: heldSchema }),
  z.object({ remove: heldSchema.pick({ bucket: true, key: true }) }),
])

export type Held = z.infer<typeof heldSchema>
type Line = z.infer<typeof lineSchema>

export class Shelf {
  readonly #dir: string | undefined
  readonly #buckets = new Map<string, Map<string, Held>>()
  readonly #bytes = new Map<string, Buffer>()
  /** A bucket's keys in order, until one comes or goes. */
  readonly #sorted = new Map<string, readonly string[]>()

  constructor(dir: string | undefined) {
    this.#dir = dir
    if (dir === undefined) return
    mkdirSync(join(dir, 'objects'), { recursive: true })
    if (existsSync(this.#journal(dir))) this.#replay(readFileSync(this.#journal(dir), 'utf8'))
  }

  has(bucket: string): boolean {
    return this.#buckets.has(bucket)
  }

  addBucket(bucket: string): void {
    if (!this.has(bucket)) this.#buckets.set(bucket, new Map())
  }

  find(bucket: string, key: string): Held | undefined {
    return this.#buckets.get(bucket)?.get(key)
  }

  /** The bytes [start, end) of an object. */
  read(held: Held, start = 0, end = held.size): Buffer {
    const bytes = this.#bytes.get(held.file)
    if (bytes) return bytes.subarray(start, end)
    const file = openSync(join(this.#dir ?? '', 'objects', held.file), 'r')
    try {
      const part = Buffer.allocUnsafe(end - start)
      return part.subarray(0, readSync(file, part, 0, part.length, start))
    } finally {
      closeSync(file)
    }
  }

  put(
    at: { readonly bucket: string; readonly key: string },
    bytes: Buffer,
    tags: { readonly crc32?: string | undefined; readonly etag?: string } = {},
  ): Held {
    const before = this.find(at.bucket, at.key)
    const { etag = md5(bytes), crc32 } = tags
    const file = randomUUID()
    const times = { size: bytes.length, lastModified: Date.now() }
    const held = { ...at, ...times, etag, ...(crc32 !== undefined && { crc32 }), file }
    if (this.#dir === undefined) this.#bytes.set(file, bytes)
    else writeFileSync(join(this.#dir, 'objects', file), bytes)
    this.#record({ put: held })
    if (before) this.#drop(before)
    return held
  }

  remove(bucket: string, key: string): void {
    const held = this.find(bucket, key)
    if (!held) return
    this.#record({ remove: { bucket, key } })
    this.#drop(held)
  }

  /** In order of the keys' bytes. */
  keys(bucket: string): readonly string[] {
    const known = this.#sorted.get(bucket)
    if (known) return known
    const keys = [...(this.#buckets.get(bucket)?.keys() ?? [])].sort(compareKeys)
    this.#sorted.set(bucket, keys)
    return keys
  }

  #record(line: Line): void {
    if (this.#dir !== undefined) {
      appendFileSync(this.#journal(this.#dir), `${JSON.stringify(line)}\n`)
    }
    this.#apply(line)
  }

  #apply(line: Line): void {
    const { bucket, key } = 'put' in line ? line.put : line.remove
    this.addBucket(bucket)
    const objects = this.#buckets.get(bucket)
    if (!objects) return
    if (!objects.has(key) || 'remove' in line) this.#sorted.delete(bucket)
    if ('put' in line) objects.set(key, line.put)
    else objects.delete(key)
  }

  #replay(journal: string): void {
    // What follows the last line's end was being written when the server died.
    for (const line of journal.slice(0, journal.lastIndexOf('\n') + 1).split('\n')) {
      if (line !== '') this.#apply(lineSchema.parse(JSON.parse(line)))
    }
  }

  #drop(held: Held): void {
    this.#bytes.delete(held.file)
    if (this.#dir !== undefined) rmSync(join(this.#dir, 'objects', held.file), { force: true })
  }

  #journal(dir: string): string {
    return join(dir, 'journal.jsonl')
  }
}

export const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex')
