import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { isFailure } from '../../../src/failure.ts'
import { OrderLog } from '../../../src/feed/order-log.ts'
import { makeSplit } from '../../../src/feed/split.ts'
import { hashesOf, hexes, logOf, orderRule } from '../../support/feed.ts'

const corrupt = (error: unknown): boolean => isFailure(error, 'corrupt')

function threeGroups(): OrderLog {
  const split = makeSplit(hashesOf(50), { seed: 4, share: 0.1 })
  const log = new OrderLog({ training: 't', rule: orderRule, split })
  const hashes = hashesOf(6)
  log.admit(hashes.subarray(0, 48), Uint32Array.of(3, 2, 1))
  log.admit(hashes.subarray(48, 64), Uint32Array.of(4))
  log.admit(hashes.subarray(64, 96), Uint32Array.of(5, 6))
  return log
}

test('order log: what is read back says the same, closed or not', () => {
  const log = threeGroups()
  for (const closed of [false, true]) {
    if (closed) log.close()
    const read = OrderLog.decode(log.encode())
    assert.deepEqual(read.encode(), log.encode())
    assert.deepEqual([read.training, read.rule, read.split], ['t', orderRule, log.split])
    assert.deepEqual([read.groups, read.closed], [3, closed])
    assert.deepEqual(read.group(2), { start: 4, end: 6 })
    assert.deepEqual([...read.samples.tokens()], [3, 2, 1, 4, 5, 6])
    assert.deepEqual(
      hexes(hashesOf(6)),
      [0, 1, 2, 3, 4, 5].map((i) => read.samples.hash(i)),
    )
  }
})

test('order log: what was written as it grew is what it encodes', () => {
  const log = new OrderLog({ training: 't', rule: orderRule, split: null })
  let file = log.encode()
  const write = (bytes: Buffer) => {
    file = Buffer.concat([file, bytes])
  }
  log.admit(hashesOf(2), Uint32Array.of(1, 2), write)
  log.admit(hashesOf(3).subarray(32), Uint32Array.of(3), write)
  log.close(write)
  assert.deepEqual(file, log.encode())
})

test('order log: what cannot be written is not admitted', () => {
  const log = logOf([1, 2])
  const refuse = () => {
    throw new Error('full')
  }
  assert.throws(() => log.admit(hashesOf(1), Uint32Array.of(1), refuse), /full/)
  assert.throws(() => log.close(refuse), /full/)
  assert.deepEqual([log.samples.count, log.groups, log.closed], [2, 1, false])
})

test('order log: every cut and every changed byte is found; a torn end can be left out', () => {
  const bytes = threeGroups().encode()
  const bounds = new Set<number>()
  for (let cut = 0; cut < bytes.length; cut++) {
    try {
      bounds.add(OrderLog.decode(bytes.subarray(0, cut)).samples.count)
    } catch (error) {
      assert.ok(corrupt(error))
    }
  }
  // Only between records it is a log, a shorter one: a checkpoint's checksums tell that.
  assert.deepEqual([...bounds], [0, 3, 4])
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] ^= 0x10
    assert.throws(() => OrderLog.decode(changed), corrupt, `byte ${at}`)
  }
  const torn = OrderLog.decode(bytes.subarray(0, bytes.length - 1), 'dropped')
  assert.deepEqual([torn.groups, torn.samples.count], [2, 4])
  assert.ok(torn.isStartOf(threeGroups()))
})

test('order log: a later one goes on from an earlier; another does not', () => {
  const later = threeGroups()
  const earlier = OrderLog.decode(later.encode())
  later.admit(hashesOf(9).subarray(8 * 16), Uint32Array.of(9))
  assert.ok(earlier.isStartOf(later) && later.isStartOf(later))
  assert.equal(later.isStartOf(earlier), false)
  assert.equal(logOf([1]).isStartOf(later), false)
})

test('order log: one of a later version is refused as such', () => {
  const content = Buffer.from('{"format":2}')
  const head = Buffer.alloc(8)
  head.writeUInt32LE(content.length)
  head.writeUInt32LE(crc32(content), 4)
  const bytes = Buffer.concat([Buffer.from('DSORDER1'), head, content])
  assert.throws(
    () => OrderLog.decode(bytes),
    (error) => isFailure(error, 'invalid'),
  )
})
