import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { dataState, parseDataState } from '../../../src/feed/data-state.ts'
import { OrderFile } from '../../../src/feed/order-file.ts'
import { hashesOf, logOf } from '../../support/feed.ts'
import { silent } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

test('order file: it grows with the log, and a torn end is left out', async (t) => {
  const work = await scratch(t)
  const file = new OrderFile(work)
  assert.equal(file.read(silent), undefined)
  const log = logOf([1, 2])
  file.write(log)
  log.admit(hashesOf(3).subarray(32), Uint32Array.of(3), (bytes) => file.append(bytes))
  assert.deepEqual(file.read(silent)?.encode(), log.encode())
  const path = join(work, 'training-order.bin')
  writeFileSync(path, readFileSync(path).subarray(0, -3))
  assert.deepEqual(file.read(silent)?.encode(), logOf([1, 2]).encode())
  writeFileSync(path, 'something else')
  assert.equal(file.read(silent), undefined)
})

test('order file: it grows behind what was whole, whatever a full disk cut short', async (t) => {
  const work = await scratch(t)
  const file = new OrderFile(work)
  const log = logOf([1, 2])
  file.write(log)
  const append = (bytes: Buffer) => file.append(bytes)
  log.admit(hashesOf(3).subarray(32), Uint32Array.of(3), append)
  appendFileSync(join(work, 'training-order.bin'), 'the beginning of a record')
  log.admit(hashesOf(4).subarray(48), Uint32Array.of(4), append)
  assert.deepEqual(file.read(silent)?.encode(), log.encode())
})

test('order file: a folder that takes no file is told', async (t) => {
  const work = await scratch(t)
  rmSync(work, { recursive: true })
  assert.throws(
    () => new OrderFile(work).write(logOf([1])),
    (error) => isFailure(error, 'invalid'),
  )
})

test('data state: cursor and order come back from a checkpoint’s JSON', () => {
  const log = logOf([4, 5, 6])
  const kept: unknown = JSON.parse(JSON.stringify(dataState(17, log.encode())))
  const found = parseDataState(kept)
  assert.equal(found.plan, 17)
  assert.deepEqual(found.record, log.encode())
  assert.deepEqual(found.log.encode(), log.encode())
  for (const bad of [null, {}, { plan: -1, order: '' }, { plan: 0, order: 'bm8gbG9n' }]) {
    assert.throws(
      () => parseDataState(bad),
      (error) => isFailure(error, 'corrupt'),
    )
  }
})
