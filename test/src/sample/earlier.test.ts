import assert from 'node:assert/strict'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { encodeSafetensors, type TensorToWrite } from '../../../src/safetensors/write.ts'
import { examine, isLeft, readStates } from '../../../src/sample/earlier.ts'
import { encodeSample, type SampleFormat, sampleMetadata } from '../../../src/sample/encode.ts'
import { scratch } from '../../support/target-run.ts'

const captures = ['layer_1', 'layer_4']
const format: SampleFormat = {
  captures,
  hidden: 3,
  dtype: 'bf16',
  metadata: sampleMetadata('f'.repeat(64), captures),
}
const ids = [5, 6, 7, 8]
const states = Uint16Array.from({ length: ids.length * 6 }, (_, i) => 0x3f80 + i)

interface Given {
  readonly states?: Partial<TensorToWrite>
  readonly ids?: Partial<TensorToWrite>
  readonly metadata?: Record<string, string>
}

const bytesOf = (array: Uint16Array | BigInt64Array | Int32Array | Float32Array) =>
  new Uint8Array(array.buffer)

/** As speculators writes one, unless something else is given. */
function fileOf(dir: string, given: Given = {}): string {
  const path = join(dir, 'hs_0.safetensors')
  const parts = encodeSafetensors(
    [
      {
        name: 'hidden_states',
        dtype: 'BF16',
        shape: [ids.length, 2, 3],
        data: bytesOf(states),
        ...given.states,
      },
      {
        name: 'token_ids',
        dtype: 'I64',
        shape: [ids.length],
        data: bytesOf(BigInt64Array.from(ids, BigInt)),
        ...given.ids,
      },
    ],
    given.metadata,
  )
  writeFileSync(path, Buffer.concat(parts))
  return path
}

async function lookAt(t: TestContext, given: Given = {}, format_ = format) {
  const dir = await scratch(t)
  return await examine(fileOf(dir, given), { format: format_, maxTokens: 8 })
}

async function leftFor(t: TestContext, given: Given, format_ = format): Promise<string> {
  const found = await lookAt(t, given, format_)
  if (isLeft(found)) return `${found.left}: ${found.facts}`
  const read = await readStates(found, format_)
  return isLeft(read) ? `${read.left}: ${read.facts}` : assert.fail('it was taken')
}

test('earlier: a file of speculators gives its ids and its states as they are', async (t) => {
  const found = await lookAt(t)
  if (isLeft(found)) assert.fail(found.facts)
  assert.deepEqual([...found.ids], ids)
  const read = await readStates(found, format)
  if (isLeft(read)) assert.fail(read.facts)
  assert.deepEqual(Buffer.from(read.states), Buffer.from(bytesOf(states)))
})

test('earlier: a file of ours becomes the same bytes again, whatever it was named', async (t) => {
  const dir = await scratch(t)
  const content = { hash: 'ab'.repeat(16), ids: Int32Array.from(ids), states: bytesOf(states) }
  const sample = encodeSample(content, format)
  writeFileSync(join(dir, 'x.safetensors'), Buffer.concat(sample.parts))
  const found = await examine(join(dir, 'x.safetensors'), { format, maxTokens: 8 })
  if (isLeft(found)) assert.fail(found.facts)
  const read = await readStates(found, format)
  if (isLeft(read)) assert.fail(read.facts)
  const again = encodeSample({ hash: content.hash, ids: found.ids, ...read }, format)
  assert.deepEqual(Buffer.concat(again.parts), Buffer.concat(sample.parts))
  assert.equal(again.crc32, sample.crc32)
})

test('earlier: ids may be int32; beyond that no row has them', async (t) => {
  const data = bytesOf(Int32Array.from(ids))
  const found = await lookAt(t, { ids: { dtype: 'I32', data } })
  assert.deepEqual(isLeft(found) ? found : [...found.ids], ids)
  const wide = bytesOf(BigInt64Array.of(5n, 6n, 2n ** 32n + 7n, 8n))
  assert.match(await leftFor(t, { ids: { data: wide } }), /^no usable row.*beyond int32/)
})

test('earlier: without token ids inside nothing is proved', async (t) => {
  assert.match(
    await leftFor(t, { ids: { name: 'input_ids' } }),
    /^no hidden states and token ids inside: tensors: .*input_ids/,
  )
})

test('earlier: numbers of another type are left alone, convertible or not', async (t) => {
  assert.match(
    await leftFor(t, { states: { dtype: 'F16' } }),
    /^another type.*want=BF16, found=F16/,
  )
  const wide = bytesOf(new Float32Array(24))
  const f32 = await leftFor(t, { states: { dtype: 'F32', data: wide } })
  assert.match(f32, /^another type of numbers/)
})

test('earlier: another number of layers, of tokens or of values is another shape', async (t) => {
  for (const shape of [
    [4, 3, 2],
    [4, 6],
    [2, 2, 6],
    [1, 4, 2, 3],
  ]) {
    assert.match(await leftFor(t, { states: { shape } }), /^another shape: hidden_states: want=/)
  }
  const data = bytesOf(BigInt64Array.of(1n, 2n, 3n))
  const three = await leftFor(t, { ids: { shape: [3], data } })
  assert.match(three, /^another shape: token_ids: want=I64 \[4\], found=I64 \[3\]/)
})

test('earlier: rows longer than the run takes are told before anything is read', async (t) => {
  const found = await examine(fileOf(await scratch(t)), { format, maxTokens: 3 })
  assert.match(isLeft(found) ? found.facts : '', /want=1 to 3 tokens, found=4/)
})

test('earlier: a file that names another target, or other captures, is left alone', async (t) => {
  const own = format.metadata
  assert.ok(!isLeft(await lookAt(t, { metadata: { ...own } })))
  const target = 'e'.repeat(64)
  assert.match(await leftFor(t, { metadata: { ...own, target } }), /^of another target: .*eee/)
  const other = { ...own, captures: 'layer_1,layer_3' }
  assert.match(await leftFor(t, { metadata: other }), /^of other captures: .*layer_1,layer_3/)
})

test('earlier: the state after the final norm is never taken on trust', async (t) => {
  const names = ['layer_1', 'final']
  const final = { ...format, captures: names, metadata: sampleMetadata('f'.repeat(64), names) }
  assert.match(await leftFor(t, {}, final), /^of other captures: .*final norm/)
  assert.ok(!isLeft(await lookAt(t, { metadata: { ...final.metadata } }, final)))
})

test('earlier: a value that is not finite leaves its file alone, and tells where', async (t) => {
  const bad = Uint16Array.from(states)
  bad[4] = 0x7f80
  assert.match(await leftFor(t, { states: { data: bytesOf(bad) } }), /^values.*\(layer_4: 1\)/)
})

test('earlier: what is torn, no safetensors file, a folder or gone is left alone', async (t) => {
  const dir = await scratch(t)
  const path = fileOf(dir)
  truncateSync(path, 100)
  writeFileSync(join(dir, 'text'), 'version https://git-lfs.github.com/spec/v1')
  mkdirSync(join(dir, 'folder'))
  for (const file of [path, join(dir, 'text'), join(dir, 'folder'), join(dir, 'none')]) {
    const found = await examine(file, { format, maxTokens: 8 })
    assert.equal(isLeft(found) && found.left, 'it cannot be read', file)
  }
})

test('earlier: a file that is cut after its header was read is left alone', async (t) => {
  const dir = await scratch(t)
  const path = fileOf(dir)
  const found = await examine(path, { format, maxTokens: 8 })
  if (isLeft(found)) assert.fail(found.facts)
  truncateSync(path, found.file.dataStart + 40)
  const read = await readStates(found, format)
  assert.equal(isLeft(read) && read.left, 'it cannot be read')
})
