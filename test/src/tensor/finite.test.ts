import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countNonFinite } from '../../../src/tensor/finite.ts'

const bytesOf = (values: Uint16Array | Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

test('finite: NaN and both infinities are counted, in every place, at any offset', () => {
  const cases = [
    ['BF16', Uint16Array.of(0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x7f7f, 0xff7f, 0, 0x8000, 1), 4],
    ['F16', Uint16Array.of(0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x7bff, 0xfbff, 0, 0x8000, 1), 4],
    ['F32', Float32Array.of(Number.NaN, Infinity, -Infinity, 3.4e38, -3.4e38, 0, -0, 1e-45), 3],
  ] as const
  for (const [type, values, bad] of cases) {
    const bytes = bytesOf(values)
    assert.equal(countNonFinite(bytes, type), bad, type)
    for (let shift = 1; shift < 8; shift++) {
      const moved = new Uint8Array(shift + bytes.length).subarray(shift)
      moved.set(bytes)
      assert.equal(countNonFinite(moved, type), bad, `${type}, shift=${shift}`)
    }
    assert.equal(countNonFinite(bytes.subarray(0, 0), type), 0)
  }
})

test('finite: half a value is no value', () => {
  assert.throws(() => countNonFinite(new Uint8Array(3), 'BF16'), { kind: 'invalid' })
  assert.throws(() => countNonFinite(new Uint8Array(6), 'F32'), { kind: 'invalid' })
})
