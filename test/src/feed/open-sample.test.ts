import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { isUnfit, openSample } from '../../../src/feed/open-sample.ts'
import type { StatesFormat } from '../../../src/feed/training-batch.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { rowOf, sampleOf } from '../../support/feed.ts'

const format: StatesFormat = { captures: 2, captureFinal: false, hidden: 4, dtype: 'bf16' }

const unfit = (bytes: Uint8Array, entry: ManifestEntry, of = format): string => {
  const found = openSample(bytes, entry, of)
  return isUnfit(found) ? found.unfit : 'nothing is wrong'
}

/** The line of the manifest that these bytes, changed as they are, would have. */
const proved = (bytes: Buffer, entry: ManifestEntry) => ({ ...entry, crc32: crc32(bytes) })

test('sample: its ids and states, at whatever offset the bytes lie', () => {
  const { bytes, entry, ids } = sampleOf(rowOf(1, 9))
  const shifted = Buffer.concat([Buffer.alloc(3), bytes]).subarray(3)
  for (const at of [bytes, shifted]) {
    const found = openSample(at, entry, format)
    assert.ok(!isUnfit(found))
    assert.deepEqual([...found.ids], ids.map(BigInt))
    assert.equal(found.states.length, 9 * 2 * 4 * 2)
  }
})

test('sample: bytes that are not those that were stored', () => {
  const { bytes, entry } = sampleOf(rowOf(1, 9))
  assert.match(unfit(bytes.subarray(1), entry), /^bytes: want=/)
  for (const at of [0, 20, bytes.length - 1]) {
    const changed = Buffer.from(bytes)
    changed[at] ^= 4
    assert.match(unfit(changed, entry), /^crc32: want=/)
  }
})

test('sample: what its checksum holds for, and is still none of this run', () => {
  const { bytes, entry } = sampleOf(rowOf(1, 9))
  const noHeader = Buffer.from(bytes)
  noHeader[0] = 255
  noHeader[5] = 255
  assert.match(unfit(noHeader, proved(noHeader, entry)), /header/)
  assert.match(unfit(bytes, entry, { ...format, hidden: 8 }), /hidden_states: want=BF16 \[9,2,8\]/)
  assert.match(unfit(bytes, entry, { ...format, dtype: 'f16' }), /hidden_states: want=F16/)
  assert.match(unfit(bytes, { ...entry, tokens: 8 }), /hidden_states: want=BF16 \[8,2,4\]/)
  const other = sampleOf(rowOf(2, 9))
  assert.match(unfit(other.bytes, { ...other.entry, hash: entry.hash }), /hash of its token ids/)
})

test('sample: a value that is no number', () => {
  const { bytes, entry } = sampleOf(rowOf(1, 9))
  const withNaN = Buffer.from(bytes)
  const at = withNaN.length - 9 * 8 - 2
  const places = [at, withNaN.length - 2].filter((place) => place % 2 === 0)
  const found = places.map((place) => {
    const changed = Buffer.from(bytes)
    changed.writeUInt16LE(0x7fc0, place)
    return unfit(changed, proved(changed, entry))
  })
  // Where the states lie, and where the ids do.
  assert.ok(found.includes('values that are NaN or infinite'), found.join())
})
