/**
 * One stored sample, read whole: its checksum, its safetensors header, what its tensors are, that
 * the states are numbers, and that its token ids are those it is stored under.
 */
import { crc32 } from 'node:zlib'
import { contentHash } from '../dataset/fingerprint.ts'
import { isFailure } from '../failure.ts'
import { entryKey, type ManifestEntry } from '../manifest/entry.ts'
import type { RunIdentity } from '../run/identity.ts'
import { headerEnd, parseHeader, prefixBytes, type TensorInfo } from '../safetensors/header.ts'
import { shapeProblem, statesName } from '../sample/shape.ts'
import type { ObjectStore } from '../store/store.ts'
import { statesDType } from '../tensor/dtype.ts'
import { countNonFinite } from '../tensor/finite.ts'

/** A sample is read so much at a time: what one costs in memory, however long it is. */
export const pieceBytes = 8 << 20

/**
 * What is wrong with the sample's bytes; null where nothing is.
 *
 * @throws Failure `unavailable`, `invalid`: the store does not give them
 */
export async function checkSample(
  store: ObjectStore,
  entry: ManifestEntry,
  identity: RunIdentity,
): Promise<string | null> {
  const source = new Source(store, entry)
  try {
    return await checked(source, entry, identity)
  } catch (error) {
    if (error instanceof Gone) return error.message
    if (isFailure(error, 'corrupt')) return error.message
    throw error
  }
}

async function checked(
  source: Source,
  entry: ManifestEntry,
  identity: RunIdentity,
): Promise<string | null> {
  const file = { name: entryKey(entry), bytes: entry.length }
  const end = headerEnd(await source.read(0, prefixBytes), file)
  const head = await source.read(0, end)
  const header = parseHeader(head, file)
  const wrong = shapeProblem(header.tensors, shapeOf(entry, identity))
  if (wrong !== null) return wrong
  const found = { crc: crc32(head), bad: 0, ids: new BigInt64Array(entry.tokens) }
  for (const [name, tensor] of header.tensors) {
    await eachPiece(source, tensor, (piece, at) => {
      found.crc = crc32(piece, found.crc)
      if (name === statesName) found.bad += countNonFinite(piece, statesDType[identity.dtype])
      else new Uint8Array(found.ids.buffer).set(piece, at)
    })
  }
  if (found.crc !== entry.crc32) return `crc32: want=${entry.crc32}, found=${found.crc}`
  const tokenIds = Int32Array.from(found.ids, Number)
  const wide = found.ids.findIndex((id, at) => id !== BigInt(tokenIds[at] ?? 0))
  if (wide >= 0) return `token ${wide}: its id is no int32, found=${found.ids[wide]}`
  const hash = contentHash(tokenIds).toString('hex')
  if (hash !== entry.hash) return `hash of its token ids: want=${entry.hash}, found=${hash}`
  return found.bad === 0 ? null : `${found.bad} values are NaN or infinite`
}

const shapeOf = (
  { tokens }: ManifestEntry,
  { captureFinal, dtype, hiddenSize, layers }: RunIdentity,
) => ({ tokens, captures: layers.length + (captureFinal ? 1 : 0), hidden: hiddenSize, dtype })

/** The tensor's bytes in order, whole elements each time; `at`: counted from its start. */
async function eachPiece(
  source: Source,
  { start, end }: TensorInfo,
  take: (piece: Uint8Array, at: number) => void,
): Promise<void> {
  for (let at = start; at < end; at += pieceBytes) {
    take(await source.read(at, Math.min(end, at + pieceBytes)), at - start)
  }
}

/** The object went away, or is shorter than its line says. */
class Gone extends Error {}

/** The sample's bytes in its object: a small one is asked for once, a big one piece by piece. */
class Source {
  readonly #store: ObjectStore
  readonly #entry: ManifestEntry
  #whole: Buffer | undefined

  constructor(store: ObjectStore, entry: ManifestEntry) {
    this.#store = store
    this.#entry = entry
  }

  /** Bytes [start, end) of the sample, less where the sample ends before. */
  async read(start: number, end: number): Promise<Buffer> {
    const { length } = this.#entry
    if (length > pieceBytes) return await this.#get(start, Math.min(end, length))
    this.#whole ??= await this.#get(0, length)
    return this.#whole.subarray(start, end)
  }

  async #get(start: number, end: number): Promise<Buffer> {
    const { offset } = this.#entry
    const range = { start: offset + start, end: offset + end }
    const bytes = await this.#store.get(entryKey(this.#entry), range)
    if (!bytes) throw new Gone('is not there')
    if (bytes.length === end - start) return bytes
    throw new Gone(`size: want=${range.end}, found=${range.start + bytes.length}`)
  }
}
