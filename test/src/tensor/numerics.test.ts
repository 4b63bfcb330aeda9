import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  bfloat16ToFloat32,
  float32ToBfloat16,
  fromBfloat16,
  toBfloat16,
} from '../../../src/tensor/bfloat16.ts'
import {
  float16ToFloat32,
  float32ToFloat16,
  fromFloat16,
  toFloat16,
} from '../../../src/tensor/float16.ts'
import { golden } from '../../support/golden.ts'
import { needsShared } from '../../support/needs.ts'

interface Numerics {
  readonly count: number
  readonly sections: readonly {
    readonly name: string
    readonly start: number
    readonly count: number
  }[]
}

interface Expected extends Numerics {
  readonly sha256OfAllWidened: { readonly bf16: string; readonly f16: string }
}

const hex = (bits: number): string => `0x${bits.toString(16).padStart(4, '0')}`
const isBfloat16NaN = (bits: number): boolean => (bits & 0x7fff) > 0x7f80
const isFloat16NaN = (bits: number): boolean => (bits & 0x7fff) > 0x7c00

/** In memory of their own, so that they are aligned. */
const readBytes = (path: string): ArrayBuffer => new Uint8Array(readFileSync(path)).buffer

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8'))

/** Every pattern of a directory's `in_f32.bin` must give its `out_*.bin`, a NaN any NaN. */
function checkDirectory(dir: string): void {
  const numerics = readJson<Numerics>(join(dir, 'numerics.json'))
  const values = new Float32Array(readBytes(join(dir, 'in_f32.bin')))
  const conversions = [
    { file: 'out_bf16.bin', found: float32ToBfloat16(values), isAnyNaN: isBfloat16NaN },
    { file: 'out_f16.bin', found: float32ToFloat16(values), isAnyNaN: isFloat16NaN },
  ]
  assert.equal(values.length, numerics.count)
  for (const { file, found, isAnyNaN } of conversions) {
    const want = new Uint16Array(readBytes(join(dir, file)))
    assert.equal(found.length, want.length)
    for (const { name, start, count } of numerics.sections) {
      for (let i = start; i < start + count; i++) {
        if (isAnyNaN(want[i]) ? isAnyNaN(found[i]) : found[i] === want[i]) continue
        assert.equal(hex(found[i]), hex(want[i]), `${file}, section "${name}", value ${values[i]}`)
      }
    }
  }
}

const allPatterns = Uint16Array.from({ length: 65536 }, (_, bits) => bits)

const sha256 = (values: Float32Array): string =>
  createHash('sha256').update(new Uint8Array(values.buffer)).digest('hex')

test('numerics: ties and near ties, overflow and subnormals round as in torch', () => {
  checkDirectory(golden('numerics'))
})

test('numerics: random patterns and values round as torch rounds them', (t) => {
  const dir = needsShared(t, 'reference/numerics')
  if (dir !== undefined) checkDirectory(dir)
})

test('bfloat16: a list of roundings which truncation gets wrong', () => {
  const roundings: [value: number, bits: number][] = [
    [0.2691408770292272, 0x3e8a],
    [3.14, 0x4049],
    [1e-8, 0x322c],
    [1.00390625, 0x3f80],
    [1.01171875, 0x3f82],
    [65504, 0x4780],
    [-0, 0x8000],
    [3.4e38, 0x7f80],
    [Number.POSITIVE_INFINITY, 0x7f80],
    [Number.NEGATIVE_INFINITY, 0xff80],
  ]
  for (const [value, bits] of roundings) {
    assert.equal(hex(toBfloat16(value)), hex(bits), `${value}`)
    assert.equal(hex(float32ToBfloat16(Float32Array.of(value))[0]), hex(bits), `${value}`)
  }
})

test('numerics: a NaN whose payload lies in the dropped bits stays a NaN', () => {
  const nans = new Float32Array(
    Uint32Array.of(0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff).buffer,
  )
  assert.ok(float32ToBfloat16(nans).every(isBfloat16NaN))
  assert.ok(float32ToFloat16(nans).every(isFloat16NaN))
  assert.ok(isBfloat16NaN(toBfloat16(Number.NaN)))
  assert.ok(isFloat16NaN(toFloat16(Number.NaN)))
})

test('numerics: all 65536 patterns widen exactly, NaN payloads and all', () => {
  const { sha256OfAllWidened } = readJson<Expected>(golden('numerics', 'numerics.json'))
  assert.equal(sha256(bfloat16ToFloat32(allPatterns)), sha256OfAllWidened.bf16)
  assert.equal(sha256(float16ToFloat32(allPatterns)), sha256OfAllWidened.f16)
})

test('numerics: what was widened narrows to itself', () => {
  const bfloats = float32ToBfloat16(bfloat16ToFloat32(allPatterns))
  const halves = float32ToFloat16(float16ToFloat32(allPatterns))
  for (const bits of allPatterns) {
    if (!isBfloat16NaN(bits)) assert.equal(bfloats[bits], bits)
    if (!isFloat16NaN(bits)) assert.equal(halves[bits], bits)
  }
})

test('numerics: single values convert as whole arrays do', () => {
  const bfloats = bfloat16ToFloat32(allPatterns)
  const halves = float16ToFloat32(allPatterns)
  for (let bits = 0; bits < allPatterns.length; bits += 7) {
    assert.equal(fromBfloat16(bits), bfloats[bits])
    assert.equal(fromFloat16(bits), halves[bits])
  }
  assert.deepEqual([1, -2.5, 65519, 65520, 2 ** -24, 2 ** -25].map(toFloat16).map(hex), [
    '0x3c00',
    '0xc100',
    '0x7bff',
    '0x7c00',
    '0x0001',
    '0x0000',
  ])
})

test('numerics: a view in the middle of a buffer converts its own values alone', () => {
  const whole = Float32Array.of(1, 2, 3, 4, 5)
  const view = whole.subarray(1, 3)
  assert.deepEqual([...bfloat16ToFloat32(float32ToBfloat16(view))], [2, 3])
  assert.deepEqual([...float16ToFloat32(float32ToFloat16(view))], [2, 3])
})
