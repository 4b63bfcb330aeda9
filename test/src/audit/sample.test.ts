import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { checkSample, pieceBytes } from '../../../src/audit/sample.ts'
import { Failure } from '../../../src/failure.ts'
import { entryKey, type ManifestEntry } from '../../../src/manifest/entry.ts'
import { encodeSafetensors, type TensorToWrite } from '../../../src/safetensors/write.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { identity, idsOf, lineFor, type SampleFile, sampleFile } from './samples.ts'

/** What is said of these bytes under this line. */
async function said({ bytes, entry }: SampleFile, of = identity): Promise<string | null> {
  const store = new MemoryStore()
  await store.put(entryKey(entry), bytes)
  return await checkSample(store, entry, of)
}

const changed = (name: string, by: Partial<TensorToWrite>) => (tensors: TensorToWrite[]) =>
  tensors.map((tensor) => (tensor.name === name ? { ...tensor, ...by } : tensor))

test('sample: as a run writes it, nothing is wrong; any byte that changed is', async () => {
  const { bytes, entry } = sampleFile(3)
  assert.equal(await said({ bytes, entry }), null)
  for (let at = 0; at < bytes.length; at++) {
    const hurt = Buffer.from(bytes)
    hurt.writeUInt8(hurt.readUInt8(at) ^ (1 << (at % 8)), at)
    assert.notEqual(await said({ bytes: hurt, entry }), null, `at=${at}`)
  }
})

test('sample: gone, cut short, or of another length', async () => {
  const { bytes, entry } = sampleFile(1)
  assert.equal(await checkSample(new MemoryStore(), entry, identity), 'is not there')
  const cut = bytes.subarray(0, -1)
  const want = `size: want=${bytes.length}, found=${cut.length}`
  assert.equal(await said({ bytes: cut, entry }), want)
  // The line agrees, and the header does not.
  assert.match((await said({ bytes: cut, entry: lineFor(cut, idsOf(1)) })) ?? '', /tensor|data|end/)
})

test('sample: whole by its checksum, and still not what this run stores', async () => {
  const nan = new Uint8Array(Uint16Array.from({ length: 3 * 3 * 3 }, () => 0x7f81).buffer)
  const cases: [string, (tensors: TensorToWrite[]) => readonly TensorToWrite[], RegExp][] = [
    [
      'type',
      changed('hidden_states', { dtype: 'F16' }),
      /want=BF16 \[3,3,3\], found=F16 \[3,3,3\]/,
    ],
    ['shape', changed('hidden_states', { shape: [3, 9, 1] }), /want=BF16 \[3,3,3\].*\[3,9,1\]/],
    ['name', changed('token_ids', { name: 'ids' }), /token_ids: want=I64 \[3\], found=none/],
    ['not finite', changed('hidden_states', { data: nan }), /^27 values are NaN or infinite$/],
    [
      'ids',
      changed('token_ids', { data: new Uint8Array(BigInt64Array.of(1n, 2n, 3n).buffer) }),
      /hash of its token ids: want=[0-9a-f]{32}, found=[0-9a-f]{32}/,
    ],
    [
      'wide ids',
      changed('token_ids', {
        data: new Uint8Array(BigInt64Array.from(idsOf(1), (id) => BigInt(id) + 2n ** 32n).buffer),
      }),
      /no int32, found=4294967306/,
    ],
    [
      'more',
      (tensors) => [...tensors, { name: 'x', dtype: 'I64', shape: [1], data: new Uint8Array(8) }],
      /other tensors: found=x/,
    ],
  ]
  for (const [name, spoil, says] of cases) {
    assert.match((await said(sampleFile(1, spoil))) ?? 'nothing', says, name)
  }
  assert.match(
    (await said(sampleFile(1), { ...identity, layers: [0] })) ?? '',
    /want=BF16 \[3,2,3\]/,
  )
  assert.match((await said(sampleFile(1), { ...identity, dtype: 'f32' })) ?? '', /want=F32/)
})

test('sample: a long one is read piece by piece, a packed one in its place', async () => {
  const ids = idsOf(2)
  const wide = { ...identity, hiddenSize: Math.ceil(pieceBytes / 8) }
  const states = new Uint16Array(ids.length * 3 * wide.hiddenSize)
  states[states.length - 1] = 0x7f80
  const file = Buffer.concat(
    encodeSafetensors([
      {
        name: 'hidden_states',
        dtype: 'BF16',
        shape: [ids.length, 3, wide.hiddenSize],
        data: new Uint8Array(states.buffer),
      },
      {
        name: 'token_ids',
        dtype: 'I64',
        shape: [ids.length],
        data: new Uint8Array(BigInt64Array.from(ids, BigInt).buffer),
      },
    ]),
  )
  const offset = 5
  const entry: ManifestEntry = { ...lineFor(file, ids), key: 'hidden-states/packs/1', offset }
  const memory = new MemoryStore()
  await memory.put(entryKey(entry), Buffer.concat([Buffer.alloc(offset), file, Buffer.alloc(3)]))
  let most = 0
  const store = eachRequest(memory, async (work) => {
    const value = await work()
    if (Buffer.isBuffer(value)) most = Math.max(most, value.length)
    return value
  })
  assert.equal(await checkSample(store, entry, wide), '1 values are NaN or infinite')
  assert.equal(most, pieceBytes)
  const wrong = { ...entry, crc32: crc32(Buffer.from('other')) }
  assert.match((await checkSample(store, wrong, wide)) ?? '', /^crc32: want=\d+, found=\d+$/)
})

test('sample: a store that does not answer says nothing about the sample', async () => {
  const { bytes, entry } = sampleFile(1)
  const memory = new MemoryStore()
  await memory.put(entryKey(entry), bytes)
  const away = eachRequest(memory, async () => {
    throw new Failure('unavailable', 'away')
  })
  await assert.rejects(checkSample(away, entry, identity), { kind: 'unavailable' })
})
