import type { SampleHash, SampleRef } from '../../protocol/sample.ts'
import { type ManifestEntry, quarantined, rowHash } from '../../src/manifest/entry.ts'
import { sampleKey } from '../../src/manifest/key.ts'
import type { EntryTable } from '../../src/manifest/table.ts'

/** What this ledger writes into the manifest, and reads of it. */

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

export const storedEntry = (sample: SampleRef, key: string): ManifestEntry => ({
  hash: sample.hash,
  key: key === sampleKey(sample.hash, sample.crc32) ? null : key,
  offset: 0,
  length: sample.bytes,
  tokens: sample.tokens,
  crc32: sample.crc32,
  status: 'stored',
  reason: null,
  attempt: 0,
})

export const quarantinedEntry = (hash: string, tokens: number, reason: string): ManifestEntry => ({
  hash,
  key: null,
  offset: 0,
  length: 0,
  tokens,
  crc32: 0,
  status: 'quarantined',
  reason,
  attempt: 0,
})
