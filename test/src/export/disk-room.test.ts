import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { DiskRoom } from '../../../src/export/disk-room.ts'
import { isFailure } from '../../../src/failure.ts'
import { scratch } from '../../support/target-run.ts'

/** Files go to a disk as long as it keeps what it must; what is there is whole. */

const parts = [Buffer.from('ab'), Buffer.from('cd')]
const hasNoRoom = (error: unknown): boolean =>
  isFailure(error, 'unavailable') && /too little room. want=4 B, free=/.test(error.message)

test('disk room: a file is written while its bytes are free beyond what is kept', async (t) => {
  const dir = await scratch(t)
  let free = 104
  const room = new DiskRoom(dir, 100, async () => free)
  await room.write(join(dir, 'one'), parts)
  free = 103
  await assert.rejects(room.write(join(dir, 'two'), parts), hasNoRoom)
  assert.deepEqual(await readdir(dir), ['one'])
  assert.equal(await readFile(join(dir, 'one'), 'utf8'), 'abcd')
})

test('disk room: what is under way counts, though the disk does not tell of it yet', async (t) => {
  const dir = await scratch(t)
  const room = new DiskRoom(dir, 100, async () => 107)
  const first = room.write(join(dir, 'one'), parts)
  const both = await Promise.allSettled([first, room.write(join(dir, 'two'), parts)])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  await room.write(join(dir, 'two'), parts)
})

test('disk room: a file that cannot be written leaves none behind', async (t) => {
  const dir = await scratch(t)
  const room = new DiskRoom(dir, 0)
  await writeFile(join(dir, 'taken'), '')
  await assert.rejects(room.write(join(dir, 'taken', 'one'), parts))
  assert.deepEqual(await readdir(dir), ['taken'])
})
