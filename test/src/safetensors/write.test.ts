import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { isFailure } from '../../../src/failure.ts'
import { parseHeader } from '../../../src/safetensors/header.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import {
  crc32OfParts,
  encodeSafetensors,
  type TensorToWrite,
} from '../../../src/safetensors/write.ts'
import type { DType } from '../../../src/tensor/dtype.ts'
import { golden } from '../../support/golden.ts'

interface Written {
  readonly metadata: Readonly<Record<string, string>> | null
  readonly tensors: readonly {
    readonly name: string
    readonly dtype: DType
    readonly shape: readonly number[]
    readonly hex: string
  }[]
}

const official: Readonly<Record<string, Written>> = JSON.parse(
  readFileSync(golden('safetensors', 'writer', 'expected.json'), 'utf8'),
)

const counted = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i)

/** A sample as the extractor writes it: 3 tokens, 2 layers, 4 wide. */
const sample: readonly TensorToWrite[] = [
  {
    name: 'hidden_states',
    dtype: 'BF16',
    shape: [3, 2, 4],
    data: [counted(16), counted(16), counted(16)],
  },
  { name: 'token_ids', dtype: 'I64', shape: [3], data: counted(24) },
]
const sampleMetadata = { target: 'größer "Qwen3"', layers: '1,16' }

const refused = (message: RegExp) => (error: unknown) => {
  assert.ok(isFailure(error, 'invalid'), String(error))
  assert.match(error.message, message)
  return true
}

const u8 = (name: string, bytes: number): TensorToWrite => ({
  name,
  dtype: 'U8',
  shape: [bytes],
  data: counted(bytes),
})

test('safetensors: what can be aligned is written as by the official writer', () => {
  const written: string[] = []
  for (const [name, { metadata, tensors }] of Object.entries(official)) {
    const ours = tensors.map(({ hex, ...tensor }) => ({ ...tensor, data: Buffer.from(hex, 'hex') }))
    if (ours.filter(({ data }) => data.length % 8 !== 0).length > 1) continue
    const bytes = Buffer.concat(encodeSafetensors(ours, metadata ?? undefined))
    assert.deepEqual(bytes, readFileSync(golden('safetensors', 'writer', `${name}.safetensors`)))
    written.push(name)
  }
  assert.deepEqual(written, ['same_dtype_sorted_by_name', 'scalar_and_empty', 'no_tensors'])
})

// The official package, 0.8.0, was given these bytes once and read the same tensors and metadata.
test('safetensors: a sample file keeps its bytes', () => {
  const bytes = Buffer.concat(encodeSafetensors(sample, sampleMetadata))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  assert.equal(sha256, '36efa85a529efe7c5310df8f4f95343a8b2ebef91701e84d0fe6e3bab6237982')
})

test('safetensors: what is written reads back', () => {
  const { metadata, tensors } = readSafetensors(
    Buffer.concat(encodeSafetensors(sample, sampleMetadata)),
    'sample',
  )
  assert.deepEqual(Object.fromEntries(metadata), sampleMetadata)
  assert.deepEqual(
    [...tensors.values()],
    [
      { name: 'token_ids', dtype: 'I64', shape: [3], data: counted(24) },
      {
        name: 'hidden_states',
        dtype: 'BF16',
        shape: [3, 2, 4],
        data: Uint8Array.of(...counted(16), ...counted(16), ...counted(16)),
      },
    ],
  )
})

test('safetensors: every tensor written starts at a multiple of 8', () => {
  const mask: TensorToWrite = { name: 'mask', dtype: 'BOOL', shape: [5], data: counted(5) }
  const odd: TensorToWrite = { name: 'odd', dtype: 'I64', shape: [], data: counted(8) }
  const half: TensorToWrite = { name: 'half', dtype: 'F16', shape: [7], data: counted(14) }
  for (const tensors of [
    [half, ...sample, odd],
    [mask, odd, ...sample],
    [...sample, u8('e', 0)],
  ]) {
    const bytes = Buffer.concat(encodeSafetensors(tensors, { n: 'x' }))
    const header = parseHeader(bytes, { name: 'ours', bytes: bytes.length })
    assert.equal(header.tensors.size, tensors.length)
    for (const { start } of header.tensors.values()) assert.equal(start % 8, 0)
  }
})

test('safetensors: two tensors that cannot both be aligned are refused by name', () => {
  assert.throws(
    () => encodeSafetensors([u8('a', 3), u8('b', 8), u8('c', 4)]),
    refused(/found="a" \(3 bytes\), "c" \(4 bytes\)$/),
  )
})

test('safetensors: the order in which tensors and metadata come does not change the bytes', () => {
  const forwards = encodeSafetensors(sample, { a: '1', b: '2' })
  const backwards = encodeSafetensors(sample.toReversed(), { b: '2', a: '1' })
  assert.deepEqual(Buffer.concat(backwards), Buffer.concat(forwards))
})

test('safetensors: tensors are written from their own memory', () => {
  const parts = encodeSafetensors(sample)
  const data = sample.flatMap(({ data }) => data)
  assert.equal(parts.length, 1 + data.length)
  for (const part of data) assert.ok(parts.includes(part))
})

test('safetensors: data that differ from type and shape are not written', () => {
  const short: TensorToWrite = { name: 's', dtype: 'BF16', shape: [3, 4], data: counted(22) }
  assert.throws(() => encodeSafetensors([short]), refused(/tensor="s", want=24 bytes, found=22/))
  const negative: TensorToWrite = { name: 'n', dtype: 'U8', shape: [-2, -4], data: counted(8) }
  assert.throws(() => encodeSafetensors([negative]), refused(/tensor="n"/))
})

test('safetensors: names that no reader would take are not written', () => {
  assert.throws(() => encodeSafetensors([u8('a', 8), u8('a', 8)]), refused(/taken. tensor="a"/))
  assert.throws(() => encodeSafetensors([u8('__metadata__', 8)]), refused(/taken/))
  assert.throws(() => encodeSafetensors([u8('\ud800', 8)]), refused(/no Unicode/))
  assert.throws(() => encodeSafetensors([], { a: '\udc00' }), refused(/no Unicode/))
})

test('safetensors: the checksum over parts is that of the whole file', () => {
  const parts = encodeSafetensors(sample)
  assert.equal(crc32OfParts(parts), crc32(Buffer.concat(parts)))
  assert.equal(
    crc32OfParts([Buffer.from('1234'), Buffer.alloc(0), Buffer.from('56789')]),
    0xcbf43926,
  )
  assert.equal(crc32OfParts([]), 0)
})
