/** A safetensors object of a store, read once from its first byte to its last. */
import { crc32 } from 'node:zlib'
import { Failure, isFailure } from '../failure.ts'
import { headerEnd, parseHeader, prefixBytes } from '../safetensors/header.ts'
import type { ObjectStore } from '../store/store.ts'
import type { DType } from '../tensor/dtype.ts'
import type { FileFacts } from './state.ts'

/** In memory of its own, so that it can be given to another thread. */
export interface ReadTensor {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly data: Uint8Array<ArrayBuffer>
}

/** Asked for in one request; what a checkpoint costs in memory beside its tensors. */
const pieceBytes = 32 << 20

/**
 * @param want  size and checksum of the object
 * @returns     the tensors in the order of their data
 * @throws      Failure `corrupt`: the object is gone, shorter, longer or has other bytes
 */
export async function readTensors(
  store: ObjectStore,
  key: string,
  want: FileFacts,
): Promise<ReadTensor[]> {
  const source = new Source(store, key, want)
  const file = { name: key, bytes: want.bytes }
  const prefix = await source.next(Math.min(prefixBytes, want.bytes))
  const end = headerEnd(prefix, file)
  const head = Buffer.concat([prefix, await source.next(end - prefixBytes)])
  const tensors: ReadTensor[] = []
  // In the order of the data, which they cover without gap: so every byte is counted once.
  for (const [name, { dtype, shape, start, end }] of parseHeader(head, file).tensors) {
    tensors.push({ name, dtype, shape, data: await source.next(end - start) })
  }
  await source.end()
  return tensors
}

/** The same, and nothing of it is kept. @throws Failure `corrupt`, as above */
export async function checkBytes(store: ObjectStore, key: string, want: FileFacts): Promise<void> {
  const source = new Source(store, key, want)
  for (let at = 0; at < want.bytes; at += pieceBytes) {
    await source.next(Math.min(pieceBytes, want.bytes - at))
  }
  await source.end()
}

class Source {
  readonly #store: ObjectStore
  readonly #key: string
  readonly #want: FileFacts
  #piece: Uint8Array = new Uint8Array()
  #asked = 0
  #crc = 0

  constructor(store: ObjectStore, key: string, want: FileFacts) {
    this.#store = store
    this.#key = key
    this.#want = want
  }

  /** The next bytes, so many of them. */
  async next(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length)
    for (let filled = 0; filled < length; ) {
      if (this.#piece.length === 0) await this.#ask()
      const part = this.#piece.subarray(0, length - filled)
      bytes.set(part, filled)
      filled += part.length
      this.#piece = this.#piece.subarray(part.length)
    }
    return bytes
  }

  /** All was read: is it what was put, and is that all of it? */
  async end(): Promise<void> {
    const { bytes, crc32: want } = this.#want
    const more = await this.#store.get(this.#key, { start: bytes, end: bytes + 1 })
    if (more && more.length > 0) this.#differs('size', { want: bytes, found: 'more' })
    if (this.#crc !== want) this.#differs('CRC-32', { want, found: this.#crc })
  }

  async #ask(): Promise<void> {
    const { bytes } = this.#want
    const range = { start: this.#asked, end: Math.min(bytes, this.#asked + pieceBytes) }
    const piece = await this.#store.get(this.#key, range)
    const found = this.#asked + (piece?.length ?? 0)
    if (!piece || found < range.end) this.#differs('size', { want: bytes, found })
    this.#asked = found
    this.#crc = crc32(piece, this.#crc)
    this.#piece = piece
  }

  #differs(
    what: string,
    { want, found }: { readonly want: number; readonly found: number | string },
  ): never {
    const facts = `file=${this.#key}, want=${want}, found=${found}`
    throw new Failure('corrupt', `file of a checkpoint has another ${what}. ${facts}`)
  }
}

/** Bytes that arrive damaged once may have been the line; twice, it is the store. */
export async function twice<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!isFailure(error, 'corrupt')) throw error
    return await read()
  }
}
