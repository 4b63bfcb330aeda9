import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { parseJson } from '../../../src/safetensors/json.ts'
import { openSafetensors, readSafetensors, readTensor } from '../../../src/safetensors/read.ts'
import type { DType } from '../../../src/tensor/dtype.ts'
import { elements, float32Elements, type Tensor } from '../../../src/tensor/tensor.ts'

interface Part {
  readonly name: string
  readonly dtype: DType
  readonly array: Uint8Array | Uint16Array | Float32Array
}

/** A file made by hand, without our writer: tensors in the order given, unpadded. */
function fileOf(parts: readonly Part[]): Buffer {
  let end = 0
  const entries = parts.map(({ name, dtype, array }) => {
    const start = end
    end += array.byteLength
    return [name, { dtype, shape: [array.length], data_offsets: [start, end] }] as const
  })
  return withHeader(
    JSON.stringify(Object.fromEntries(entries)),
    parts.map(({ array }) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength)),
  )
}

function withHeader(json: string, data: readonly Uint8Array[] = []): Buffer {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(json)))
  return Buffer.concat([length, Buffer.from(json), ...data])
}

const twoTensors = fileOf([
  { name: 'a', dtype: 'F32', array: Float32Array.of(1.5, -2) },
  { name: 'b', dtype: 'BF16', array: Uint16Array.of(0x3f80, 0xc000) },
])

function tensorOf(tensors: ReadonlyMap<string, Tensor>, name: string): Tensor {
  const tensor = tensors.get(name)
  assert.ok(tensor, `no tensor ${name}`)
  return tensor
}

const corrupt = (message: RegExp) => (error: unknown) => {
  assert.ok(isFailure(error, 'corrupt'), String(error))
  assert.match(error.message, message)
  return true
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'safetensors-'))
  try {
    await use(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('safetensors: a file cut short is refused by the name of the tensor it cut', async () => {
  const cut = twoTensors.subarray(0, -4)
  const named = corrupt(/file=.*, tensor="b", want=12 bytes of data, found=8/)
  assert.throws(() => readSafetensors(cut, 'cut.safetensors'), named)
  await inFolder(async (folder) => {
    const path = join(folder, 'cut.safetensors')
    await writeFile(path, cut)
    await assert.rejects(openSafetensors(path), named)
  })
})

test('safetensors: a file with one byte too many is refused', () => {
  const long = Buffer.concat([twoTensors, Buffer.alloc(1)])
  assert.throws(
    () => readSafetensors(long, 'long'),
    corrupt(/after its last tensor. file=long, want=12 bytes of data, found=13/),
  )
})

test('safetensors: a pooled Buffer, not at the start of its memory, reads right', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'small.safetensors')
    await writeFile(path, twoTensors)
    for (const offset of [1, 8]) {
      const pooled = Buffer.alloc(offset + twoTensors.length).subarray(offset)
      pooled.set(await readFile(path))
      const { tensors } = readSafetensors(pooled, path)
      assert.deepEqual([...elements(tensorOf(tensors, 'a'), 'F32')], [1.5, -2])
      assert.deepEqual([...float32Elements(tensorOf(tensors, 'b'))], [1, -2])
      assert.equal(tensorOf(tensors, 'a').data.buffer, pooled.buffer, 'a view, not a copy')
    }
  })
})

test('safetensors: tensors that are not aligned to their elements read right', () => {
  const { tensors } = readSafetensors(
    fileOf([
      { name: 'u', dtype: 'U8', array: Uint8Array.of(7, 8, 9) },
      { name: 'f', dtype: 'F32', array: Float32Array.of(1, 2, 3, 4) },
      { name: 'h', dtype: 'BF16', array: Uint16Array.of(0x3fc0, 0xc000) },
    ]),
    'unaligned',
  )
  assert.deepEqual([...elements(tensorOf(tensors, 'u'), 'U8')], [7, 8, 9])
  assert.deepEqual([...elements(tensorOf(tensors, 'f'), 'F32')], [1, 2, 3, 4])
  assert.deepEqual([...float32Elements(tensorOf(tensors, 'h'))], [1.5, -2])
})

test('safetensors: a header of many tensors reads in the order of their data', () => {
  const count = 2000
  const parts = Array.from({ length: count }, (_, i): Part => {
    return { name: `t${count - i}`, dtype: 'U8', array: Uint8Array.of(i % 256) }
  })
  const { tensors } = readSafetensors(fileOf(parts), 'many')
  assert.deepEqual(
    [...tensors.keys()],
    parts.map(({ name }) => name),
  )
  assert.ok([...tensors.values()].every(({ data }, i) => data.length === 1 && data[0] === i % 256))
})

test('safetensors: opened, a file gives the place of each tensor and reads one alone', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'two.safetensors')
    await writeFile(path, twoTensors)
    const file = await openSafetensors(path)
    const b = file.tensors.get('b')
    assert.ok(b)
    assert.equal(file.bytes, twoTensors.length)
    assert.deepEqual(b, { dtype: 'BF16', shape: [2], start: file.bytes - 4, end: file.bytes })
    assert.equal(file.tensors.get('a')?.start, file.dataStart)
    assert.deepEqual(await readTensor(file, 'b'), {
      name: 'b',
      dtype: 'BF16',
      shape: [2],
      data: new Uint8Array(twoTensors.subarray(b.start, b.end)),
    })
  })
})

test('safetensors: a file that is cut after it was opened gives an error, not zeros', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'two.safetensors')
    await writeFile(path, twoTensors)
    const file = await openSafetensors(path)
    await truncate(path, twoTensors.length - 1)
    await assert.rejects(readTensor(file, 'b'), corrupt(/cut while it was read/))
    assert.deepEqual([...elements(await readTensor(file, 'a'), 'F32')], [1.5, -2])
  })
})

test('safetensors: a missing file, a folder and a missing tensor are named', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'two.safetensors')
    const named = (message: RegExp) => (error: unknown) => {
      assert.ok(isFailure(error, 'invalid'), String(error))
      assert.match(error.message, message)
      return true
    }
    await assert.rejects(openSafetensors(path), named(/cannot be read. file=.*two.safetensors/))
    await assert.rejects(openSafetensors(folder), named(/cannot be read/))
    await writeFile(path, twoTensors)
    const file = await openSafetensors(path)
    await assert.rejects(readTensor(file, 'c'), named(/file=.*two.safetensors, tensor="c"/))
  })
})

test('safetensors: a dimension beyond 2^53 is refused rather than rounded', () => {
  const header = (dimension: bigint): Buffer =>
    withHeader(`{"e":{"dtype":"F32","shape":[0,${dimension}],"data_offsets":[0,0]}}`)
  const { tensors } = readSafetensors(header(2n ** 53n - 1n), 'f')
  assert.deepEqual(tensorOf(tensors, 'e').shape, [0, 2 ** 53 - 1])
  assert.throws(
    () => readSafetensors(header(2n ** 53n + 1n), 'f'),
    corrupt(/tensor="e", found=9007199254740993/),
  )
})

test('safetensors: an entry is taken in every spelling that the official reader takes', () => {
  const spellings = [
    '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}',
    '{"dtype":{"U8":null},"shape":[1],"data_offsets":[0,1]}',
    '["U8",[1],[0,1]]',
    '{"shape":[1],"x":1.5e3,"x":[{}],"data_offsets":[0,1],"dtype":"\\u00558"}',
  ]
  for (const spelling of spellings) {
    const bytes = withHeader(` {"w" :\t${spelling}}\r\n`, [Uint8Array.of(5)])
    assert.deepEqual([...tensorOf(readSafetensors(bytes, 'f').tensors, 'w').data], [5], spelling)
  }
})

test('json: 127 levels are read and 128 are not, nor are numbers out of range', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  assert.ok(parseJson(nested(127)))
  for (const text of [nested(128), '1e400', '01', '1.', '"\\udc00"', '"a', '"\\"', 'nul', '[1,]']) {
    assert.throws(() => parseJson(text), corrupt(/not JSON. at=\d+, want=.+, found=/), text)
  }
  assert.equal(parseJson('18446744073709551615'), 2n ** 64n - 1n)
  assert.equal(typeof parseJson('18446744073709551616'), 'object')
})
