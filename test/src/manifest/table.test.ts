import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { nextRound, nextTry } from '../../../src/manifest/attempt.ts'
import { Block } from '../../../src/manifest/block.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { sampleKey } from '../../../src/manifest/key.ts'
import { missingRows } from '../../../src/manifest/missing.ts'
import { EntryTable } from '../../../src/manifest/table.ts'
import { union } from '../../../src/manifest/union.ts'
import {
  contendingEntry,
  contents,
  entriesOf,
  lostEntry,
  manyRows,
  quarantinedEntry,
  randomHash,
  shuffled,
  storedEntry,
} from './entries.ts'

function blockOf(entries: readonly ManifestEntry[]): Block {
  const block = new Block(entries.length)
  for (const entry of entries) block.push(entry)
  return block
}

function tableOf(...parts: readonly (readonly ManifestEntry[])[]): EntryTable {
  const table = new EntryTable()
  for (const part of parts) table.merge(blockOf(part))
  return table
}

test('union: any order of any split, with any repeats, gives the same table', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = seededRandom(seed)
    const hashes = Array.from({ length: 6 }, () => randomHash(random))
    const entries = Array.from({ length: 60 }, () => contendingEntry(random, hashes))
    const want = tableOf(entries)
    const again = shuffled([...entries, ...entries.slice(0, 20)], random)
    const cut = Math.floor(random() * again.length)
    const found = tableOf(again.slice(0, cut), again.slice(cut), again.slice(0, 5))
    assert.deepEqual(contents(found), contents(want), `seed=${seed}`)
    assert.equal(found.stored, want.stored, `seed=${seed}`)
    assert.equal(found.quarantined, want.quarantined, `seed=${seed}`)
    assert.equal(found.lost, want.lost, `seed=${seed}`)
    assert.equal(found.stored + found.quarantined + found.lost, found.size, `seed=${seed}`)
  }
})

test('union: the table agrees with the rule, entry by entry', () => {
  const random = seededRandom(7)
  const hashes = Array.from({ length: 4 }, () => randomHash(random))
  const want = new Map<string, ManifestEntry>()
  const table = new EntryTable()
  for (let i = 0; i < 500; i++) {
    const entry = contendingEntry(random, hashes)
    const present = want.get(entry.hash)
    want.set(entry.hash, present ? union(present, entry) : entry)
    table.add(entry)
  }
  for (const [hash, entry] of want) assert.deepEqual(table.get(hash), entry)
})

test('union: stored beats quarantined, a later attempt an earlier, a smaller key a greater', () => {
  const random = seededRandom(3)
  const hash = randomHash(random)
  const stored = storedEntry(random, { hash, crc32: 9 })
  const quarantined = quarantinedEntry(random, { hash, attempt: 5 })
  assert.equal(union(quarantined, stored), stored)
  assert.equal(union(stored, quarantined), stored)

  const later = quarantinedEntry(random, { hash, attempt: 6, reason: 'again' })
  assert.equal(union(quarantined, later), later)

  const smaller = storedEntry(random, { hash, crc32: 8 })
  assert.equal(union(stored, smaller), smaller)
  assert.equal(union(smaller, stored), smaller)
  const named = storedEntry(random, { hash, crc32: 9, key: 'hidden-states/00' })
  assert.equal(union(smaller, named), named)
})

test('union: a loss takes back what was said before it, and is answered in its round', () => {
  const random = seededRandom(4)
  const hash = randomHash(random)
  const stored = storedEntry(random, { hash, crc32: 9 })
  const retried = quarantinedEntry(random, { hash, attempt: 255 })
  const loss = lostEntry(random, { hash, attempt: nextRound(255) })
  const again = storedEntry(random, { hash, crc32: 9, attempt: loss.attempt })
  const failed = quarantinedEntry(random, { hash, attempt: nextTry(loss.attempt) })
  const lostAgain = lostEntry(random, { hash, attempt: nextRound(again.attempt) })
  // From the weakest to the strongest: each beats all before it, whichever comes first.
  const ascending = [retried, stored, loss, failed, again, lostAgain]
  for (const [i, weak] of ascending.entries()) {
    for (const strong of ascending.slice(i + 1)) {
      assert.equal(union(weak, strong), strong)
      assert.equal(union(strong, weak), strong)
    }
  }
})

test('attempt: tries stay in their round, and rounds come to an end', () => {
  assert.deepEqual([0, 254, 255, 256].map(nextTry), [1, 255, 255, 257])
  assert.deepEqual([0, 255, 256].map(nextRound), [256, 256, 512])
  assert.throws(() => nextRound(0xffff), { kind: 'invalid', message: /lost too often/ })
})

test('table: 150,000 entries, each found by its hash, none that was not added', () => {
  const random = seededRandom(11)
  const rows = manyRows(150_000, random)
  const table = new EntryTable()
  table.merge(rows)
  table.merge(rows)
  assert.equal(table.size, 150_000)
  for (const entry of entriesOf(rows)) {
    if (entry.tokens % 50 === 0) assert.deepEqual(table.get(entry.hash), entry)
  }
  for (let i = 0; i < 1000; i++) assert.equal(table.has(randomHash(random)), false)
  const hashes = Buffer.from(table.hashes().buffer)
  assert.ok(hashes.equals(Buffer.from(rows.words.buffer)))
})

test('table: a canonical key that is spelt out is the same entry', () => {
  const random = seededRandom(5)
  const entry = storedEntry(random)
  const spelt = { ...entry, key: sampleKey(entry.hash, entry.crc32) }
  assert.deepEqual(contents(tableOf([spelt])), [entry])
})

test('table: what a manifest may not hold is refused by name', () => {
  const random = seededRandom(6)
  const bad: Partial<ManifestEntry>[] = [
    { hash: 'AB' },
    { tokens: 0 },
    { tokens: 2 ** 32 },
    { tokens: 1.5 },
    { length: 0 },
    { length: -1 },
    { length: 2 ** 53 },
    { offset: Number.NaN },
    { crc32: -1 },
    { attempt: 65_536 },
    { key: 'manifest/lock.json' },
    { reason: 'stored, yet with a reason' },
    { status: 'quarantined', reason: null, length: 0, crc32: 0 },
    { status: 'quarantined', reason: 'has an object', crc32: 0 },
    { status: 'lost', reason: 'it opens no round', length: 0, crc32: 0, attempt: 255 },
    { status: 'lost', reason: null, length: 0, crc32: 0, attempt: 256 },
    { status: 'lost', reason: 'has an object', crc32: 0, attempt: 256 },
    { key: '../../etc/passwd' },
    { key: '/etc/passwd' },
    { key: 'hidden-states/../../x' },
    { key: 'hidden-states//x' },
    { key: 'hidden-states/a\\b' },
    { key: `hidden-states/${'x'.repeat(1024)}` },
  ]
  for (const of of bad) {
    const table = new EntryTable()
    assert.throws(() => table.add(storedEntry(random, of)), { kind: 'invalid' }, JSON.stringify(of))
    assert.equal(table.size, 0)
  }
})

test('missing: rows that no entry names, in order, wherever their bytes lie', () => {
  const random = seededRandom(8)
  const rows = manyRows(1000, random)
  const entries = entriesOf(rows)
  const table = tableOf(entries.filter((_, row) => row % 3 === 0))
  // One that was stored, and found lost since, is missing again.
  table.add(lostEntry(random, { hash: entries[3]?.hash ?? '' }))
  const want = entries.flatMap((_, row) => (row % 3 === 0 && row !== 3 ? [] : [row]))

  const hashes = Buffer.concat(entries.map((entry) => Buffer.from(entry.hash, 'hex')))
  assert.deepEqual([...missingRows(hashes, table)], want)
  const odd = Buffer.concat([Buffer.of(0), hashes]).subarray(1)
  assert.deepEqual([...missingRows(odd, table)], want)
  // Rows that share their tokens are missing together, and found together.
  const twice = Buffer.concat([hashes.subarray(0, 32), hashes.subarray(0, 32)])
  assert.deepEqual([...missingRows(twice, table)], [1, 3])
  assert.deepEqual([...missingRows(new Uint8Array(0), table)], [])
})
