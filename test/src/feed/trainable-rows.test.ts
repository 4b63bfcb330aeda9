import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/clock.ts'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import type { Sample, Unusable } from '../../../src/dataset/open-batch.ts'
import { RowHashes } from '../../../src/dataset/row-hashes.ts'
import { findTrainable } from '../../../src/feed/trainable-rows.ts'
import { hexes } from '../../support/feed.ts'

const hashOf = (ids: readonly number[]): string => contentHash(Int32Array.from(ids)).toString('hex')

const sample = (ids: readonly number[], mask: readonly number[] | null): Sample => ({
  ids: Int32Array.from(ids),
  mask: mask && Uint8Array.from(mask),
})

async function trainable(rows: readonly (Sample | Unusable)[], limit: number | null = null) {
  const hashes = new RowHashes(rows.length, new Uint8Array(32))
  const found = await findTrainable({
    dataset: { rows: rows.length, read: (row) => structuredClone(rows[row]) },
    hashes,
    limit,
    limits: { vocab: 100, maxTokens: 5 },
    hasAnchor: (mask) => mask.join('').includes('11'),
    clock: systemClock,
  })
  return { found, hashes }
}

test('trainable rows: in the order of their hashes, whatever that of the rows', async () => {
  const rows = [sample([1, 2], [1, 1]), sample([3, 4, 5], [0, 1, 1]), sample([6, 7], null)]
  const there = (await trainable(rows)).found
  const turned = (await trainable([...rows].reverse())).found
  assert.deepEqual(turned.hashes, there.hashes)
  assert.deepEqual(turned.tokens, there.tokens)
  const sorted = rows.map(({ ids }) => hashOf([...ids])).sort()
  assert.deepEqual(hexes(there.hashes), sorted)
  assert.deepEqual(
    [...there.tokens],
    sorted.map((hash) => rows.find(({ ids }) => hashOf([...ids]) === hash)?.ids.length),
  )
})

test('trainable rows: what is no use is counted by its reason; beyond the limit none', async () => {
  const { found, hashes } = await trainable(
    [
      sample([1, 2], [1, 1]),
      sample([1, 100], [1, 1]),
      sample([1, 2, 3, 4, 5, 6], [1, 1, 1, 1, 1, 1]),
      { unusable: 'lengths differ' },
      sample([8, 9], [1, 0]),
      sample([3, 4], [1, 1]),
    ],
    5,
  )
  assert.deepEqual(found.counts, {
    rows: 5,
    repeated: 0,
    skipped: { 'token id beyond vocabulary': 1, 'too long': 1, 'lengths differ': 1 },
    withoutAnchor: 1,
  })
  assert.deepEqual(hexes(found.hashes), [hashOf([1, 2])])
  assert.deepEqual([hashes.known, found.count], [2, 1])
  assert.ok(found.has(contentHash(Int32Array.of(1, 2))))
  assert.ok(!found.has(contentHash(Int32Array.of(8, 9))))
  assert.ok(!found.has(contentHash(Int32Array.of(3, 4))))
})

test('trainable rows: of rows of the same ids each says what is trained on', async () => {
  const masks = [
    [1, 0, 0, 0],
    [0, 0, 0, 1],
    [0, 0, 1, 0],
  ]
  for (const order of [
    [0, 1, 2],
    [2, 0, 1],
    [1, 2, 0],
  ]) {
    const { found } = await trainable(order.map((i) => sample([1, 2, 3, 4], masks[i])))
    assert.deepEqual([...(found.read(hashOf([1, 2, 3, 4]))?.mask ?? [])], [1, 0, 1, 1])
    assert.deepEqual([found.count, found.counts.repeated, found.counts.withoutAnchor], [1, 2, 0])
  }
  const { found } = await trainable([sample([5, 6], null), sample([5, 6], [0, 1])])
  assert.deepEqual([...(found.read(hashOf([5, 6]))?.mask ?? [])], [1, 1])
  assert.equal(found.read(hashOf([7])), undefined)
})

test('trainable rows: a hash that was kept is not computed again', async () => {
  const hashes = new RowHashes(1, new Uint8Array(32))
  const kept = Buffer.alloc(16, 7)
  hashes.set(0, kept)
  const found = await findTrainable({
    dataset: { rows: 1, read: () => sample([1, 2], [1, 1]) },
    hashes,
    limit: null,
    limits: { vocab: 100, maxTokens: 5 },
    hasAnchor: () => true,
    clock: systemClock,
  })
  assert.deepEqual(Buffer.from(found.hashes), kept)
})
