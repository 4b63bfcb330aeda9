import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mixed, seedFor, shuffle } from '../../src/shuffle.ts'

test('shuffle: the same seed gives the same order of the same numbers', () => {
  const shuffled = (seed: number): number[] => {
    const values = Uint32Array.from({ length: 100 }, (_, i) => i)
    shuffle(values, seed)
    return [...values]
  }
  assert.deepEqual(shuffled(3), shuffled(3))
  assert.notDeepEqual(shuffled(3), shuffled(4))
  assert.deepEqual(
    shuffled(3).sort((a, b) => a - b),
    Array.from({ length: 100 }, (_, i) => i),
  )
})

test('shuffle: seeds of neighbours differ in about half their bits', () => {
  const bits = (n: number): number => n.toString(2).replaceAll('0', '').length
  for (let n = 0; n < 100; n++) {
    const changed = bits((seedFor(7, n) ^ seedFor(7, n + 1)) >>> 0)
    assert.ok(changed >= 4 && changed <= 28, `${changed} bits`)
  }
  assert.equal(new Set(Array.from({ length: 10_000 }, (_, n) => mixed(n))).size, 10_000)
})
