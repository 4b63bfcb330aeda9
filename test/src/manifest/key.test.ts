import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import { isObjectKey, isSampleHash, parseSampleKey, sampleKey } from '../../../src/manifest/key.ts'
import {
  isWriterId,
  newWriterId,
  parseSegmentKey,
  parseSnapshotKey,
  segmentKey,
  snapshotKey,
} from '../../../src/manifest/names.ts'

const hash = 'ab0123456789abcdef0123456789abcd'

test('sample key: made of hash and checksum, and read back', () => {
  const key = sampleKey(hash, 0x1f)
  assert.equal(key, `hidden-states/ab/${hash}-0000001f.safetensors`)
  assert.deepEqual(parseSampleKey(key), { hash, crc32: 0x1f })
})

test('sample key: any other text is none', () => {
  const others = [
    '',
    `hidden-states/ac/${hash}-0000001f.safetensors`,
    `hidden-states/ab/${hash}-1f.safetensors`,
    `hidden-states/ab/${hash.toUpperCase()}-0000001f.safetensors`,
    `hidden-states/ab/${hash}-0000001f.safetensors\n`,
    `x/hidden-states/ab/${hash}-0000001f.safetensors`,
    `hidden-states/ab/../ab/${hash}-0000001f.safetensors`,
  ]
  for (const other of others) assert.equal(parseSampleKey(other), undefined, other)
  assert.equal(isSampleHash(hash), true)
  assert.equal(isSampleHash(`${hash}\n`), false)
})

test('object key: nothing read from a manifest climbs out of hidden-states/', () => {
  assert.equal(isObjectKey(sampleKey(hash, 1)), true)
  assert.equal(isObjectKey('hidden-states/packs/00017.bin'), true)
  const bad = [
    'manifest/lock.json',
    'hidden-states/',
    'hidden-states/../run.json',
    'hidden-states/./a',
    'hidden-states//a',
    'hidden-states/a b',
    'hidden-states/a\n',
    `hidden-states/${'a'.repeat(1100)}`,
  ]
  for (const key of bad) assert.equal(isObjectKey(key), false, key)
})

test('writer ids: sort by time, differ at one moment, and name their segments', () => {
  const clock = new SimulatedClock(Date.UTC(2026, 10, 5, 10, 11, 12, 345))
  const random = seededRandom(1)
  const [first, second] = [newWriterId(clock, random), newWriterId(clock, random)]
  clock.advance(1)
  const third = newWriterId(clock, random)
  assert.match(first, /^20261105t101112345z-[0-9a-f]{12}$/)
  assert.notEqual(first, second)
  assert.ok(third > first && third > second)
  assert.ok(isWriterId(first))

  const key = segmentKey({ writer: first, seq: 17 })
  assert.equal(key, `manifest/segments/${first}/00000017.arrow`)
  assert.deepEqual(parseSegmentKey(key), { writer: first, seq: 17 })
  assert.equal(parseSnapshotKey(snapshotKey(first)), first)
  const foreign = ['a/b', `${key}.tmp`, key.replace('00000017', '17'), key.replace('z-', '-')]
  for (const other of foreign) assert.equal(parseSegmentKey(other), undefined, other)
})
