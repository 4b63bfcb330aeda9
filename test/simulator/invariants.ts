import { basename } from 'node:path'
import { crc32 } from 'node:zlib'
import { isFailure } from '../../src/failure.ts'
import { entryKey, type ManifestEntry, rowEntry } from '../../src/manifest/entry.ts'
import { decodeBatch, decodeOpening } from '../../src/manifest/segment.ts'
import { parseSpoolName } from '../../src/spool/name.ts'

/**
 * What must hold at every moment, whoever has just died: seen from outside, in what lies on the
 * disk and in the store.
 */

/** A promise is broken. */
export class Violation extends Error {}

/** A sample as it must end up in the store. */
export interface Expected {
  readonly hash: string
  readonly key: string
  readonly crc32: number
  readonly bytes: number
}

export class Invariants {
  /** What segments in the store name; of two for one sample, what was stored. */
  readonly committed = new Map<string, ManifestEntry>()
  /** Of each file of the manifest that there is: whom it names. */
  readonly #files = new Map<string, readonly string[]>()
  readonly #objects = new Map<string, { readonly bytes: number; readonly crc32: number }>()
  readonly #expected: ReadonlyMap<string, Expected>
  /** What was seen to be broken; told at the next look. */
  #broken: Violation | undefined

  constructor(expected: readonly Expected[]) {
    this.#expected = new Map(expected.map((sample) => [sample.hash, sample]))
  }

  /** Something outside the product's code has been found to be wrong. */
  broken(what: string): void {
    this.#broken ??= new Violation(what)
  }

  check(): void {
    if (this.#broken) throw this.#broken
  }

  /** An object in the store has changed. */
  changed(key: string, bytes: Buffer | undefined): void {
    if (key.startsWith('hidden-states/')) this.#sampleChanged(key, bytes)
    if (isOfManifest(key)) this.#manifestChanged(key, bytes)
  }

  /** A local file goes: whole, it must be named by a segment. */
  removed(path: string, bytes: Buffer): void {
    const sample = parseSpoolName(basename(path))
    if (!sample) return
    const isWholeFile = bytes.length === sample.bytes && crc32(bytes) === sample.crc32
    if (isWholeFile && this.committed.get(sample.hash)?.status !== 'stored') {
      this.broken(`a spooled file was removed before its commit. hash=${sample.hash}`)
    }
  }

  #manifestChanged(key: string, bytes: Buffer | undefined): void {
    const before = this.#files.get(key)
    const entries = bytes ? entriesIn(key, bytes) : []
    this.#files.set(
      key,
      entries.map(({ hash }) => hash),
    )
    for (const entry of entries) this.#named(entry)
    const left = before && new Set([...this.#files.values()].flat())
    const lost = before?.find((hash) => !left?.has(hash))
    if (lost !== undefined) this.broken(`committed, and no file names it any more. hash=${lost}`)
  }

  #sampleChanged(key: string, bytes: Buffer | undefined): void {
    if (bytes) this.#objects.set(key, { bytes: bytes.length, crc32: crc32(bytes) })
    else this.#objects.delete(key)
    for (const entry of this.committed.values()) {
      if (entry.status === 'stored' && entryKey(entry) === key) this.#mustBeStored(entry)
    }
  }

  #named(entry: ManifestEntry): void {
    const before = this.committed.get(entry.hash)
    if (before?.status !== 'stored') this.committed.set(entry.hash, entry)
    if (!this.#expected.has(entry.hash)) this.broken(`a sample of no row. hash=${entry.hash}`)
    if (entry.status === 'stored') this.#mustBeStored(entry)
  }

  #mustBeStored(entry: ManifestEntry): void {
    const found = this.#objects.get(entryKey(entry))
    const want = this.#expected.get(entry.hash)
    if (!found) this.broken(`committed, and not in the store. key=${entryKey(entry)}`)
    else if (found.crc32 !== entry.crc32 || found.bytes !== entry.length) {
      this.broken(`committed, and something else in the store. key=${entryKey(entry)}`)
    } else if (want && found.crc32 !== want.crc32) {
      this.broken(`not the bytes of an undisturbed run. key=${entryKey(entry)}`)
    }
  }

  /** Bytes of each object of a sample, by key. */
  get sizes(): ReadonlyMap<string, number> {
    return new Map([...this.#objects].map(([key, { bytes }]) => [key, bytes]))
  }
}

const isOfManifest = (key: string): boolean =>
  key.startsWith('manifest/segments/') || key.startsWith('manifest/snapshots/')

/** None where the file is not whole: nobody may go by it then. */
function entriesIn(key: string, bytes: Buffer): ManifestEntry[] {
  try {
    const opening = decodeOpening(bytes, { key, size: bytes.length })
    return opening.ranges.flatMap(({ start, end }, number) => {
      const rows = decodeBatch(opening, { key, number, bytes: bytes.subarray(start, end) })
      return Array.from({ length: rows.count }, (_, row) => rowEntry(rows, row))
    })
  } catch (error) {
    if (isFailure(error, 'corrupt')) return []
    throw error
  }
}
