import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WholeCheckpoint } from '../../../src/checkpoint/list.ts'
import { type RetainRule, removeCheckpoint, toRemove } from '../../../src/checkpoint/retain.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { nameOf, progressAt, saved, trainedAt, writerId } from './trained.ts'

interface Measured {
  readonly heldOutLoss?: number
  readonly tau?: number
}

const file = { bytes: 1, crc32: 1 }
function at(step: number, measured: Measured = {}, n = 0): WholeCheckpoint {
  const progress = progressAt(step, measured)
  const state = {
    format: 1 as const,
    ...progress,
    savedAt: '',
    files: { model: file, optimizer: file },
  }
  return { name: nameOf(step, n), step, writer: writerId(n), state }
}

/** Steps that stay. */
function staying(all: readonly WholeCheckpoint[], rule: RetainRule): number[] {
  const removed = toRemove(all, rule)
  return all.filter((one) => !removed.includes(one)).map(({ step }) => step)
}

test('retention: the last ones stay, by number', () => {
  const all = [100, 20, 3, 1000].map((step) => at(step))
  assert.deepEqual(staying(all, { last: 2, every: null }), [100, 1000])
  assert.deepEqual(staying(all, { last: 9, every: null }), [100, 20, 3, 1000])
  assert.deepEqual(toRemove([], { last: 1, every: 5 }), [])
})

test('retention: the best stay, by held-out loss and by acceptance length', () => {
  const all = [
    at(10, { heldOutLoss: 2, tau: 2 }),
    at(20, { heldOutLoss: 1, tau: 3 }),
    at(30, { heldOutLoss: 1.5, tau: 4 }),
    at(40, { heldOutLoss: 1.6, tau: 4 }),
    at(50),
  ]
  // Of equals the later.
  assert.deepEqual(staying(all, { last: 1, every: null }), [20, 40, 50])
})

test('retention: of each stretch of steps the first stays, and does so for ever', () => {
  const rule = { last: 1, every: 100 }
  let all: WholeCheckpoint[] = []
  for (let step = 30; step <= 420; step += 30) {
    all.push(at(step))
    const removed = toRemove(all, rule)
    all = all.filter((one) => !removed.includes(one))
  }
  assert.deepEqual(
    all.map(({ step }) => step),
    [30, 120, 210, 300, 420],
  )
})

test('retention: of several saves of one step the last counts, once', () => {
  const all = [at(10, {}, 1), at(10, { tau: 9 }, 2), at(20, {}, 1), at(20, {}, 2)]
  const removed = toRemove(all, { last: 2, every: null })
  assert.deepEqual(
    removed.map(({ name }) => name),
    [nameOf(10, 1), nameOf(20, 1)],
  )
})

test('retention: what makes it a checkpoint goes first', async () => {
  const removed: string[] = []
  const store = new (class extends MemoryStore {
    override async remove(key: string) {
      removed.push(key.split('/')[2] ?? '')
      await super.remove(key)
    }
  })()
  const name = await saved(store, trainedAt(10))
  await store.put(`checkpoints/${name}/eval.json`, Buffer.from('{}'))
  await removeCheckpoint(store, name)
  const files = ['state.json', 'model.safetensors', 'optimizer.safetensors', 'eval.json']
  assert.deepEqual(removed, files)
  const left = []
  for await (const { key } of store.list('checkpoints/')) left.push(key)
  assert.deepEqual(left, ['checkpoints/latest.json'])
})
