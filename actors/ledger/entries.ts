import type { QuarantinedSample, SampleHash, SampleRef } from '../../protocol/sample.ts'
import { nextTry } from '../../src/manifest/attempt.ts'
import { lost, type ManifestEntry, quarantined, rowHash, stored } from '../../src/manifest/entry.ts'
import { sampleKey } from '../../src/manifest/key.ts'
import type { EntryTable } from '../../src/manifest/table.ts'

/** What this ledger writes into the manifest, and reads of it. */

/** What is quarantined and to be tried again: hash → the attempt that ended so. */
export type Retry = ReadonlyMap<SampleHash, number>

/** Whether the manifest's word on a sample is its end, as far as this run is concerned. */
export function isEnded(entry: ManifestEntry | undefined, retry: Retry): boolean {
  if (entry === undefined || entry.status === 'lost') return false
  return entry.status === 'stored' || retry.get(entry.hash) !== entry.attempt
}

/** The hashes of all that has ended: 16 bytes each, one after the other. */
export function endedHashes(table: EntryTable, retry: Retry): Uint8Array<ArrayBuffer> {
  if (table.lost === 0 && retry.size === 0) return table.hashes()
  return hashesWhere(table, (row) => {
    const status = table.statusAt(row)
    if (status === lost) return false
    return status !== quarantined || isEnded(table.entryAt(row), retry)
  })
}

/** The hashes of all that is stored, as above. */
export function storedHashes(table: EntryTable): Uint8Array<ArrayBuffer> {
  if (table.stored === table.size) return table.hashes()
  return hashesWhere(table, (row) => table.statusAt(row) === stored)
}

function hashesWhere(table: EntryTable, isWanted: (row: number) => boolean) {
  const all = table.hashes()
  let end = 0
  for (let row = 0; row < table.size; row++) {
    if (!isWanted(row)) continue
    all.copyWithin(end, row * 16, row * 16 + 16)
    end += 16
  }
  return all.slice(0, end)
}

/** These 16 bytes each, and those. */
export function joined(hashes: Uint8Array, more: readonly SampleHash[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(hashes.length + more.length * 16)
  all.set(hashes)
  more.forEach((hash, i) => {
    all.set(Buffer.from(hash, 'hex'), hashes.length + i * 16)
  })
  return all
}

export function quarantinedHashes(table: EntryTable): SampleHash[] {
  if (table.quarantined === 0) return []
  const hashes: SampleHash[] = []
  for (const block of table.blocks) {
    for (let row = 0; row < block.count; row++) {
      if (block.statuses[row] === quarantined) hashes.push(rowHash(block, row))
    }
  }
  return hashes
}

/** @param before  what the manifest says of the sample so far: this is said in the same round */
export const storedEntry = (
  sample: SampleRef,
  key: string,
  before: ManifestEntry | undefined,
): ManifestEntry => ({
  hash: sample.hash,
  key: key === sampleKey(sample.hash, sample.crc32) ? null : key,
  offset: 0,
  length: sample.bytes,
  tokens: sample.tokens,
  crc32: sample.crc32,
  status: 'stored',
  reason: null,
  attempt: before?.attempt ?? 0,
})

export const quarantinedEntry = (
  { hash, tokens, reason }: QuarantinedSample,
  before: ManifestEntry | undefined,
): ManifestEntry => ({
  hash,
  key: null,
  offset: 0,
  length: 0,
  tokens,
  crc32: 0,
  status: 'quarantined',
  reason,
  attempt: before?.status === 'quarantined' ? nextTry(before.attempt) : (before?.attempt ?? 0),
})
