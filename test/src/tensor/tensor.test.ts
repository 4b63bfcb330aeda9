import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import type { DType } from '../../../src/tensor/dtype.ts'
import { elements, float32Elements, type Tensor } from '../../../src/tensor/tensor.ts'

const vector = (dtype: DType, data: Uint8Array, length: number): Tensor => ({
  name: 'v',
  dtype,
  shape: [length],
  data,
})

/** The same bytes, so many bytes into a bigger buffer. */
function shifted(bytes: Uint8Array, offset: number): Uint8Array {
  const whole = new Uint8Array(offset + bytes.length)
  whole.set(bytes, offset)
  return whole.subarray(offset)
}

const bytesOf = (array: Float32Array | Uint16Array | BigInt64Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

test('tensor: aligned elements are a view of the bytes, wherever these begin', () => {
  const bytes = shifted(bytesOf(Float32Array.of(1, 2)), 8)
  const found = elements(vector('F32', bytes, 2), 'F32')
  assert.deepEqual([...found], [1, 2])
  assert.equal(found.buffer, bytes.buffer)
})

test('tensor: unaligned elements are copied, out of a Buffer too', () => {
  const ids = BigInt64Array.of(9007199254740993n, -1n)
  for (const bytes of [shifted(bytesOf(ids), 3), Buffer.from(shifted(bytesOf(ids), 3).buffer, 3)]) {
    const found = elements(vector('I64', bytes, 2), 'I64')
    assert.deepEqual([...found], [9007199254740993n, -1n])
    assert.notEqual(found.buffer, bytes.buffer)
  }
})

test('tensor: float32, bfloat16 and half tensors all read as float32', () => {
  const values = [1.5, -2, 0]
  const tensors = [
    vector('F32', bytesOf(Float32Array.from(values)), 3),
    vector('BF16', bytesOf(Uint16Array.of(0x3fc0, 0xc000, 0)), 3),
    vector('F16', bytesOf(Uint16Array.of(0x3e00, 0xc000, 0)), 3),
  ]
  for (const tensor of tensors) assert.deepEqual([...float32Elements(tensor)], values)
})

test('tensor: another type than asked for is refused, both named', () => {
  const tensor = vector('I64', new Uint8Array(8), 1)
  const refused = (error: unknown): boolean => {
    assert.ok(isFailure(error, 'invalid'))
    assert.match(error.message, /tensor="v", want=.*(F32|U64).*, found=I64/)
    return true
  }
  assert.throws(() => elements(tensor, 'U64'), refused)
  assert.throws(() => float32Elements(tensor), refused)
})
