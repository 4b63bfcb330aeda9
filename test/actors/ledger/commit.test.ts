import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Committer } from '../../../actors/ledger/commit.ts'
import { SimulatedClock } from '../../../src/clock.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { hashOf } from '../../support/ledger-rig.ts'

const entry = (n: number): ManifestEntry => ({
  hash: hashOf(n),
  key: null,
  offset: 0,
  length: 9,
  tokens: 1,
  crc32: n,
  status: 'stored',
  reason: null,
  attempt: 0,
})

/** A committer whose segments are written when the test says so. */
function open(rule: { every: number; seconds: number }) {
  const clock = new SimulatedClock()
  const story: string[] = []
  const failures: unknown[] = []
  const kept: unknown[] = []
  const removals: (() => Promise<void>)[] = []
  const writes: { succeed: () => void; fail: (error: unknown) => void }[] = []
  const committer = new Committer({
    rule,
    clock,
    append: (entries) => {
      story.push(`append ${entries.length}`)
      return new Promise((resolve, reject) => writes.push({ succeed: resolve, fail: reject }))
    },
    committed: async (entries) => {
      story.push(`committed ${entries.length}`)
      await removals.shift()?.()
    },
    failed: (error) => failures.push(error),
    kept: (error) => kept.push(error),
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const succeed = async () => {
    writes.shift()?.succeed()
    await settle()
  }
  const told = () => ({ failures: failures.map(String), kept: kept.map(String) })
  return { committer, clock, story, told, removals, writes, succeed, settle }
}

test('committer: so many make a segment, at once', async () => {
  const { committer, story, succeed } = open({ every: 3, seconds: 10 })
  for (let n = 0; n < 3; n++) committer.add(entry(n))
  assert.deepEqual(story, ['append 3'])
  await succeed()
  assert.deepEqual(story, ['append 3', 'committed 3'])
  assert.deepEqual([committer.waiting, committer.segments], [0, 1])
})

test('committer: fewer make one when their time has come', async () => {
  const { committer, clock, story, succeed } = open({ every: 1000, seconds: 10 })
  committer.add(entry(1))
  clock.advance(9_999)
  committer.add(entry(2))
  assert.deepEqual(story, [])
  clock.advance(1)
  assert.deepEqual(story, ['append 2'])
  await succeed()
  clock.advance(60_000)
  assert.deepEqual(story, ['append 2', 'committed 2'])
})

test('committer: one segment at a time, and what came meanwhile in the next', async () => {
  const { committer, clock, story, succeed } = open({ every: 2, seconds: 10 })
  for (let n = 0; n < 5; n++) committer.add(entry(n))
  assert.deepEqual(story, ['append 2'])
  await succeed()
  await succeed()
  assert.deepEqual(story, ['append 2', 'committed 2', 'append 2', 'committed 2'])
  clock.advance(10_000)
  await succeed()
  assert.deepEqual(story.slice(4), ['append 1', 'committed 1'])
})

test('committer: flushed, it settles when nothing waits and nothing is being written', async () => {
  const { committer, story, succeed, settle } = open({ every: 2, seconds: 10 })
  for (let n = 0; n < 3; n++) committer.add(entry(n))
  let flushed = false
  const flushing = committer.flush().then(() => {
    flushed = true
  })
  await succeed()
  await settle()
  assert.equal(flushed, false)
  await succeed()
  await flushing
  assert.deepEqual(story.at(-1), 'committed 1')
  assert.equal(committer.waiting, 0)
})

test('committer: one that failed commits nothing more, and tells whoever asks', async () => {
  const { committer, clock, story, told, writes, settle } = open({ every: 1, seconds: 10 })
  committer.add(entry(1))
  writes.shift()?.fail(new Error('superseded'))
  await settle()
  committer.add(entry(2))
  clock.advance(60_000)
  await settle()
  assert.deepEqual(story, ['append 1'])
  assert.deepEqual(told(), { failures: ['Error: superseded'], kept: [] })
  await assert.rejects(committer.flush(), { message: 'superseded' })
  assert.equal(committer.waiting, 2)
})

test('committer: another rule holds for what waits, too', async () => {
  const { committer, clock, story, succeed } = open({ every: 1000, seconds: 10 })
  for (let n = 0; n < 3; n++) committer.add(entry(n))
  committer.follow({ seconds: 1 })
  clock.advance(999)
  assert.deepEqual(story, [])
  clock.advance(1)
  assert.deepEqual(story, ['append 3'])
  await succeed()
  committer.add(entry(4))
  committer.follow({ every: 1 })
  assert.deepEqual(story.slice(2), ['append 1'])
})

test('committer: one that is refused while it is waited for is told as any other', async () => {
  const { committer, told, writes } = open({ every: 1000, seconds: 10 })
  committer.add(entry(1))
  const flushed = committer.flush()
  writes.shift()?.fail(new Error('refused'))
  await assert.rejects(flushed, { message: 'refused' })
  assert.deepEqual(told(), { failures: ['Error: refused'], kept: [] })
})

test('committer: what stays in the spool once it is named is no fault of the store', async () => {
  const { committer, told, removals, succeed } = open({ every: 1, seconds: 10 })
  removals.push(() => Promise.reject(new Error('EROFS')))
  committer.add(entry(1))
  await succeed()
  assert.deepEqual(told(), { failures: [], kept: ['Error: EROFS'] })
  assert.deepEqual([committer.waiting, committer.segments], [0, 1])
})
