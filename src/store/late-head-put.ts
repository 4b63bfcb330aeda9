/** An object whose first bytes are known last: sent in equal parts, the first at the end. */
import { crc32 } from 'node:zlib'
import { completeUpload } from './complete-upload.ts'
import type { MultipartUpload, ObjectStore, PartRef } from './store.ts'

/** S3 takes no smaller ones but the last, and 10,000 of them: 78 GiB. */
const standardPartBytes = 8 << 20

/** What an object is told of before its first byte. */
export interface LateHeadOptions {
  /** Left free at the start, for what `finish` is given. */
  readonly headBytes: number
  /** All parts but the last have this size; an object no bigger than one is put whole. */
  readonly partBytes?: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Holds three parts in memory at most: the first, the one that is filled, the one under way.
 * Nothing is to be seen of the object before `finish`.
 */
export class LateHeadPut {
  readonly #store: ObjectStore
  readonly #key: string
  readonly #options: LateHeadOptions
  readonly #partBytes: number
  readonly #taken: PartRef[] = []
  #upload: MultipartUpload | undefined
  #first: Buffer | undefined
  #part: Buffer
  #filled: number
  #sending: Promise<void> = Promise.resolve()

  constructor(store: ObjectStore, key: string, options: LateHeadOptions) {
    this.#store = store
    this.#key = key
    this.#options = options
    this.#partBytes = options.partBytes ?? standardPartBytes
    this.#part = Buffer.alloc(this.#partBytes)
    this.#filled = options.headBytes
    if (options.headBytes > this.#partBytes) throw new RangeError('head is longer than a part')
  }

  /** Settles when there is room for more; the bytes are copied. */
  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#filled === this.#partBytes) await this.#turnOver()
      const piece = bytes.subarray(at, at + this.#partBytes - this.#filled)
      this.#part.set(piece, this.#filled)
      this.#filled += piece.length
      at += piece.length
    }
  }

  /** @param head  of exactly `headBytes` */
  async finish(head: Uint8Array): Promise<void> {
    const last = this.#part.subarray(0, this.#filled)
    const first = this.#first ?? last
    if (head.length !== this.#options.headBytes) throw new RangeError('head of another length')
    first.set(head)
    if (!this.#upload) {
      await this.#store.put(this.#key, last, this.#sent(last))
      return
    }
    await this.#send(last)
    await this.#sending
    this.#taken.unshift(await this.#upload.putPart(1, first, this.#sent(first)))
    await completeUpload(this.#store, this.#upload, { parts: this.#taken })
  }

  /** Nothing of it stays, where the store can be reached. */
  async abort(): Promise<void> {
    await this.#sending.catch(() => undefined)
    await this.#upload?.abort().catch(() => undefined)
  }

  /** The part that is full goes on its way, and the next one begins. */
  async #turnOver(): Promise<void> {
    if (this.#first) await this.#send(this.#part)
    else {
      this.#upload = await this.#store.startMultipart(this.#key)
      this.#first = this.#part
    }
    this.#part = Buffer.alloc(this.#partBytes)
    this.#filled = 0
  }

  /** Settles when the part before is there. */
  async #send(part: Buffer): Promise<void> {
    await this.#sending
    const number = this.#taken.length + 2
    this.#sending = this.#putPart(number, part)
    // It is looked at when the next one follows; until then nobody waits for it.
    this.#sending.catch(() => undefined)
  }

  async #putPart(number: number, part: Buffer): Promise<void> {
    const ref = await this.#upload?.putPart(number, part, this.#sent(part))
    if (ref) this.#taken.push(ref)
  }

  #sent(bytes: Buffer): { readonly crc32: number; readonly signal?: AbortSignal } {
    const { signal } = this.#options
    return { crc32: crc32(bytes), ...(signal && { signal }) }
  }
}
