import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { heldOutCount, isHeldOut, makeSplit } from '../../../src/feed/split.ts'
import { hashesOf, hexes } from '../../support/feed.ts'

const invalid = (error: unknown): boolean => isFailure(error, 'invalid')

test('split: the two sides always meet, whatever the decimals of the share (B01)', () => {
  const trained = new Map([
    [0.9, 1250],
    [0.8, 2500],
    [0.75, 3125],
    [0.7, 3750],
    [0.5, 6250],
    [0.3, 8750],
    [0.2, 10000],
    [0.1, 11250],
    [0.05, 11875],
  ])
  for (const [share, train] of trained) assert.equal(12501 - heldOutCount(12501, share), train)
  // 100 × (1 − 0.07) is 92.99999999999999 in floats.
  assert.equal(heldOutCount(100, 0.07), 7)
  assert.equal(heldOutCount(914_000, 1e-7), 1)
  assert.equal(heldOutCount(1000, 0.001), 1)
})

test('split: each sample is on one side, of the sizes of the rule (B01)', () => {
  const hashes = hashesOf(12501)
  for (const [share, train] of [
    [0.9, 1250],
    [0.75, 3125],
    [0.05, 11875],
  ] as const) {
    const split = makeSplit(hashes, { seed: 3, share })
    const out = hexes(hashes).filter((hash) => isHeldOut(split, hash))
    assert.equal(out.length, 12501 - train)
    assert.deepEqual([split.samples, split.heldOut], [12501, out.length])
  }
})

test('split: a share that is none is refused, and one that leaves nothing to train on', () => {
  for (const share of [0, -0.1, 1, 1.5, Number.NaN]) {
    assert.throws(() => heldOutCount(10, share), invalid)
  }
  assert.throws(() => makeSplit(hashesOf(1), { seed: 0, share: 0.02 }), invalid)
  assert.throws(() => makeSplit(hashesOf(0), { seed: 0, share: 0.02 }), invalid)
  assert.equal(makeSplit(hashesOf(2), { seed: 0, share: 0.02 }).heldOut, 1)
})

test('split: it does not follow the order of the samples, and stays when others come', () => {
  const hashes = hashesOf(1000)
  const split = makeSplit(hashes, { seed: 7, share: 0.1 })
  const turned = Buffer.concat(
    hexes(hashes)
      .reverse()
      .map((hash) => Buffer.from(hash, 'hex')),
  )
  assert.deepEqual(makeSplit(turned, { seed: 7, share: 0.1 }), split)
  // As a checkpoint keeps it.
  const kept = JSON.parse(JSON.stringify(split))
  const more = hexes(hashesOf(3000))
  const before = hexes(hashes).filter((hash) => isHeldOut(split, hash))
  const after = more.filter((hash) => isHeldOut(kept, hash))
  assert.deepEqual(
    after.filter((hash) => hexes(hashes).includes(hash)),
    before,
  )
  assert.ok(after.length > 200 && after.length < 400, `${after.length} of 3000`)
})

test('split: another seed holds out others', () => {
  const hashes = hashesOf(1000)
  const [a, b] = [1, 2].map((seed) => {
    const split = makeSplit(hashes, { seed, share: 0.1 })
    return hexes(hashes).filter((hash) => isHeldOut(split, hash))
  })
  const both = a.filter((hash) => b.includes(hash))
  assert.ok(both.length < 40, `${both.length} of 100 in both`)
  assert.equal(
    hexes(hashes).some((hash) => isHeldOut(null, hash)),
    false,
  )
})
