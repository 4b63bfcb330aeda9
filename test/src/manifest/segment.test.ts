import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { tableFromIPC, tableToIPC } from 'apache-arrow'
import { seededRandom } from '../../../src/clock.ts'
import { Block } from '../../../src/manifest/block.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { type HeaderFacts, seal } from '../../../src/manifest/header.ts'
import {
  decodeBatch,
  decodeOpening,
  encodeManifest,
  openingLength,
} from '../../../src/manifest/segment.ts'
import { golden, goldenJson } from '../../support/golden.ts'
import { entriesOf, manyRows, quarantinedEntry, storedEntry } from './entries.ts'

const corrupt = { kind: 'corrupt', message: /the\/key\.arrow/ }
const writer = '20261105t101112345z-9f3a2b1c0d4e'
const other = '20261104t000000000z-000000000001'
const facts: HeaderFacts = { kind: 'segment', writer, seq: 3, seen: new Map([[other, 12]]) }

function blockOf(entries: readonly ManifestEntry[]): Block {
  const block = new Block(entries.length)
  for (const entry of entries) block.push(entry)
  return block
}

function decode(bytes: Uint8Array, size = bytes.length) {
  const opening = decodeOpening(bytes, { key: 'the/key.arrow', size })
  const entries = opening.ranges.flatMap(({ start, end }, number) =>
    entriesOf(
      decodeBatch(opening, { key: 'the/key.arrow', number, bytes: bytes.subarray(start, end) }),
    ),
  )
  return { header: opening.header, entries }
}

const mixed = (seed: number): ManifestEntry[] => {
  const random = seededRandom(seed)
  return [
    storedEntry(random),
    quarantinedEntry(random, { reason: 'Schicht 3: 2 × NaN', attempt: 2 }),
    storedEntry(random, { key: 'hidden-states/packs/7', offset: 2 ** 45 + 1, length: 2 ** 40 + 3 }),
    storedEntry(random, { attempt: 65_535, crc32: 0xffff_ffff, tokens: 0xffff_ffff }),
  ]
}

test('segment: what goes in comes out, in several batches', () => {
  const many = manyRows(2000, seededRandom(2))
  const bytes = encodeManifest([blockOf(mixed(1)), new Block(0), many], facts)
  const { header, entries } = decode(bytes)
  assert.deepEqual(entries, [...mixed(1), ...entriesOf(many)])
  assert.equal(header.kind, 'segment')
  assert.equal(header.entries, 2004)
  assert.deepEqual(header.kind === 'segment' && [...header.seen], [[other, 12]])
})

test('segment: the same entries make the same bytes', () => {
  const bytes = encodeManifest([blockOf(mixed(1))], facts)
  assert.ok(bytes.equals(encodeManifest([blockOf(mixed(1))], facts)))
})

test('segment: any Arrow reader can read it', () => {
  const bytes = encodeManifest([blockOf(mixed(1)), blockOf(mixed(2))], facts)
  const table = tableFromIPC(bytes)
  assert.equal(table.numRows, 8)
  assert.deepEqual(table.getChild('reason')?.toJSON().slice(0, 2), [null, 'Schicht 3: 2 × NaN'])
  assert.deepEqual(table.getChild('offset')?.get(2), 2n ** 45n + 1n)
})

test('segment: a file cut anywhere is refused, naming it', () => {
  const bytes = encodeManifest([blockOf(mixed(1))], facts)
  for (let length = 0; length < bytes.length; length++) {
    assert.throws(() => decode(bytes.subarray(0, length)), corrupt, `length=${length}`)
  }
  assert.throws(() => decode(Buffer.concat([bytes, Buffer.of(0)])), { kind: 'corrupt' })
})

test('segment: a byte changed anywhere before the end mark is refused', () => {
  const bytes = encodeManifest([blockOf(mixed(1))], facts)
  for (let at = 0; at < bytes.length - 8; at++) {
    const hurt = Buffer.from(bytes)
    hurt.writeUInt8(hurt.readUInt8(at) ^ (1 << (at % 8)), at)
    assert.throws(() => decode(hurt), corrupt, `at=${at}`)
  }
})

test('segment: Arrow of another kind is refused; a later format asks for a later version', () => {
  const bytes = encodeManifest([blockOf(mixed(1))], facts)
  assert.throws(() => decode(tableToIPC(tableFromIPC(bytes).select(['hash']), 'stream')), corrupt)
  assert.throws(() => decode(Buffer.from('not arrow at all')), corrupt)

  const later = Buffer.from(bytes)
  later.write('"format":2', later.indexOf('"format":1'))
  assert.throws(() => decode(later), corrupt)
  seal(later.subarray(0, openingLength(later)))
  assert.throws(() => decode(later), { kind: 'invalid', message: /want=1, found=2/ })
})

test('segment: values that no writer makes are refused though all checksums hold', () => {
  const rows = manyRows(3, seededRandom(4))
  const refuse = (hurt: Partial<typeof rows>, fault: RegExp) =>
    assert.throws(() => decode(encodeManifest([{ ...rows, ...hurt }], facts)), {
      kind: 'corrupt',
      message: fault,
    })
  refuse({ statuses: Uint8Array.of(0, 7, 0) }, /status=7/)
  refuse({ lengths: Float64Array.of(5, 5, 2 ** 60) }, /length=11529215/)
  refuse({ lengths: Float64Array.of(5, 5, 0) }, /length=0/)
  refuse({ key: () => '../../etc/passwd' }, /key=\.\./)
  refuse({ reason: () => 'for no reason' }, /reason=/)
})

test('segment: files of format 1 stay readable', () => {
  const { header, entries } = decode(readFileSync(golden('manifest', 'segment-1.arrow')))
  assert.deepEqual(entries, goldenJson('manifest', 'segment-1.json'))
  assert.deepEqual(header.kind === 'segment' && [header.writer, header.seq], [writer, 3])
})
