import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nonFinite } from '../../../src/sample/finite.ts'

test('finite: NaN and infinity are told from the largest numbers, in every format', () => {
  const shape = { layers: 1, hidden: 1 }
  const bad = (dtype: 'bf16' | 'f16', pattern: number) =>
    nonFinite(Uint16Array.of(0, pattern), shape, dtype)?.[0] ?? 0
  for (const sign of [0, 0x8000]) {
    assert.deepEqual(
      [0x7f80, 0x7f81, 0x7fff].map((p) => bad('bf16', p | sign)),
      [1, 1, 1],
    )
    assert.deepEqual(
      [0x7f7f, 0x7c00, 0x0001].map((p) => bad('bf16', p | sign)),
      [0, 0, 0],
    )
    assert.deepEqual(
      [0x7c00, 0x7c01, 0x7fff].map((p) => bad('f16', p | sign)),
      [1, 1, 1],
    )
    assert.deepEqual(
      [0x7bff, 0x03ff, 0x0001].map((p) => bad('f16', p | sign)),
      [0, 0, 0],
    )
  }
  const floats = (value: number) => nonFinite(Float32Array.of(value), shape, 'f32')
  assert.deepEqual(floats(Number.NaN), [1])
  assert.deepEqual(floats(Number.NEGATIVE_INFINITY), [1])
  assert.equal(floats(3.4e38), undefined)
})

test('finite: one bad value is found wherever it stands, and no other with it', () => {
  for (const [dtype, infinity, largest] of [
    ['bf16', 0xff80, 0x7f7f],
    ['f16', 0x7c00, 0xfbff],
  ] as const) {
    for (let at = 0; at < 9; at++) {
      const values = new Uint16Array(9).fill(largest)
      assert.equal(nonFinite(values, { layers: 9, hidden: 1 }, dtype), undefined)
      values[at] = infinity
      const want = Array.from({ length: 9 }, (_, layer) => (layer === at ? 1 : 0))
      assert.deepEqual(nonFinite(values, { layers: 9, hidden: 1 }, dtype), want)
    }
  }
})
