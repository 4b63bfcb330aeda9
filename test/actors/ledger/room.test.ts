import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Grants, newGrants } from '../../../actors/ledger/grants.ts'
import { Room, type SpoolLimits } from '../../../actors/ledger/room.ts'

const GB = 1e9
const plenty = 1000 * GB

const newShared = () => newGrants(['extractor/0', 'extractor/1', 'extractor/2'])
const roomOf = (limits: SpoolLimits, shared = newShared()) => new Room(limits, new Grants(shared))

test('room: files and what is granted never pass maxBytes together', () => {
  const room = roomOf({ maxBytes: 100 * GB, keepFree: 0 })
  assert.equal(room.ask('extractor/0', 60 * GB, plenty), null)
  assert.match(room.ask('extractor/1', 60 * GB, plenty) ?? '', /^spool.maxBytes is reached/)
  assert.equal(room.ask('extractor/1', 40 * GB, plenty), null)
})

test('room: the disk keeps what it must, whoever else writes on it', () => {
  const room = roomOf({ maxBytes: 100 * GB, keepFree: 150 * GB })
  assert.equal(room.ask('extractor/0', 10 * GB, 170 * GB), null)
  const why = room.ask('extractor/1', 11 * GB, 170 * GB)
  assert.equal(why, 'the disk must keep 150 GB free and has 170 GB')
  assert.equal(room.ask('extractor/1', 10 * GB, 170 * GB), null)
})

test('room: a new question of the same asker replaces its old one', () => {
  const room = roomOf({ maxBytes: 100, keepFree: 0 })
  for (let i = 0; i < 5; i++) assert.equal(room.ask('extractor/0', 80, plenty), null)
})

test('room: what is written is taken from what was granted, and counted once', () => {
  const room = roomOf({ maxBytes: 100, keepFree: 0 })
  room.ask('extractor/0', 80, plenty)
  room.added(50, 'extractor/0')
  assert.equal(room.ask('extractor/1', 20, plenty), null)
  assert.notEqual(room.ask('extractor/2', 1, plenty), null)
  room.clear('extractor/0')
  assert.equal(room.ask('extractor/2', 30, plenty), null)
})

test('room: an asker that ended writes no more; its files stay until they go', () => {
  const room = roomOf({ maxBytes: 100, keepFree: 0 })
  room.ask('extractor/0', 100, plenty)
  room.added(40, 'extractor/0')
  room.clear('extractor/0')
  assert.deepEqual([room.bytes, room.files], [40, 1])
  assert.notEqual(room.ask('extractor/0', 61, plenty), null)
  room.removed(40)
  assert.deepEqual([room.bytes, room.files], [0, 0])
  assert.equal(room.ask('extractor/0', 100, plenty), null)
})

test('room: what was recovered counts, though nobody was granted it', () => {
  const room = roomOf({ maxBytes: 100, keepFree: 0 })
  room.added(90)
  assert.notEqual(room.ask('extractor/0', 11, plenty), null)
})

test('room: a batch that no empty spool could hold is refused, not kept waiting', () => {
  const room = roomOf({ maxBytes: 100, keepFree: 0 })
  assert.throws(() => room.ask('extractor/0', 101, plenty), {
    kind: 'invalid',
    message: /batch=101 B, spool.maxBytes=100 B/,
  })
})

test('room: what an earlier ledger granted stands until its writer asks or has told', () => {
  const shared = newShared()
  const limits = { maxBytes: 100, keepFree: 0 }
  const before = roomOf(limits, shared)
  assert.equal(before.ask('extractor/0', 50, plenty), null)
  assert.equal(before.ask('extractor/1', 50, plenty), null)
  const room = roomOf(limits, shared)
  assert.notEqual(room.ask('extractor/2', 50, plenty), null)
  assert.ok(room.has('extractor/0'))
  room.clear('extractor/0')
  assert.equal(room.ask('extractor/2', 50, plenty), null)
  assert.equal(room.ask('extractor/1', 50, plenty), null)
})

test('room: who is not known to write is granted nothing', () => {
  const room = roomOf({ maxBytes: 100, keepFree: 0 })
  assert.throws(() => room.ask('uploader/0', 1, plenty), /actor=uploader\/0/)
})

test('room: a limit that is lowered makes writers wait, and refuses nobody for good', () => {
  const room = roomOf({ maxBytes: 100, keepFree: 0 })
  room.limit({ maxBytes: 50 })
  const why = room.ask('extractor/0', 60, plenty)
  assert.equal(why, 'spool.maxBytes is reached: 0 B wait for the store, and a batch has 60 B')
  room.limit({ maxBytes: 60, keepFree: 10 })
  assert.equal(room.ask('extractor/0', 60, plenty), null)
  assert.match(room.ask('extractor/1', 0, 69) ?? '', /^the disk must keep 10 B free/)
})
