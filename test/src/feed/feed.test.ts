import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import type { TrainingBatch } from '../../../src/feed/training-batch.ts'
import type { LearningBatch } from '../../../src/training/learner.ts'
import {
  batchesFrom,
  fed,
  feedRig,
  identity,
  rowOf,
  type StoredSample,
  stateOf,
} from '../../support/feed.ts'
import { writeRows } from '../../support/rows.ts'

const rows = (count: number, tokens = (n: number) => 5 + ((n * 37) % 150)): number[][] =>
  Array.from({ length: count }, (_, n) => rowOf(n, tokens(n)))

const byHash = (samples: readonly StoredSample[]) =>
  new Map(samples.map((sample) => [sample.entry.hash, sample]))

const hashesIn = (batches: readonly TrainingBatch[]): string[] =>
  batches.flatMap((batch) => batch.rows.map(({ hash }) => hash))

/** What a batch must hold of these samples, and nothing else. */
function assertFilled(batch: TrainingBatch, samples: ReadonlyMap<string, StoredSample>): void {
  const { shape, hidden, lossMask, tokenIds } = batch
  const layers = identity.layers.length
  const width = layers * identity.hiddenSize
  assert.equal(hidden.length, shape.rows * shape.tokens * width)
  for (let row = 0; row < shape.rows; row++) {
    const ids = samples.get(batch.rows[row]?.hash)?.ids ?? []
    assert.equal(ids.length, batch.rows[row]?.tokens ?? 0)
    for (let at = 0; at < shape.tokens; at++) {
      const cell = row * shape.tokens + at
      const id = ids[at]
      assert.equal(tokenIds[cell], BigInt(id ?? 0))
      assert.equal(lossMask[cell], id !== undefined && at > 0 ? 1 : 0)
      for (let place = 0; place < width; place++) {
        const want = id === undefined ? 0 : stateOf(id, place)
        assert.equal(hidden[cell * width + place], want)
      }
    }
  }
}

test('feed: batches hold their samples, padded with zeros, each one once an epoch', async (t) => {
  const { open, samples } = await feedRig(t, rows(60))
  const opened = await open()
  const size = await opened.feed.begin('t', null)
  const batches: readonly (TrainingBatch & LearningBatch)[] = await batchesFrom(opened)
  assert.deepEqual(size.batches, [batches.length / 2, batches.length / 2])
  assert.equal(size.samples, 60)
  const known = byHash(samples)
  for (const batch of batches) assertFilled(batch, known)
  for (const epoch of [0, 1]) {
    const seen = hashesIn(batches.filter((batch) => batch.epoch === epoch))
    assert.deepEqual(seen.sort(), [...known.keys()].sort())
  }
  assert.deepEqual(opened.reader.counts, { spool: 0, cache: 0, store: 120 })
})

test('feed: the final state comes apart from the layers; f32 as floats, f16 as bits', async (t) => {
  for (const dtype of ['f32', 'f16', 'bf16'] as const) {
    const of = { ...identity, dtype, captureFinal: true }
    const { open, samples } = await feedRig(t, rows(5), { identity: of })
    const opened = await open()
    await opened.feed.begin('t', null)
    const batch = await fed(opened, 0)
    assert.ok(typeof batch === 'object')
    assert.equal(batch.hidden instanceof Float32Array, dtype === 'f32')
    const { hiddenSize, layers } = identity
    const width = layers.length * hiddenSize
    for (const [row, { hash }] of batch.rows.entries()) {
      const ids = byHash(samples).get(hash)?.ids ?? []
      for (const [at, id] of ids.entries()) {
        const cell: number = row * batch.shape.tokens + at
        const layersFound: Float32Array | Uint16Array = batch.hidden.subarray(
          cell * width,
          (cell + 1) * width,
        )
        const final: Float32Array | Uint16Array | undefined = batch.final?.subarray(
          cell * hiddenSize,
          (cell + 1) * hiddenSize,
        )
        const want = Array.from({ length: width + hiddenSize }, (_, place) => stateOf(id, place))
        assert.deepEqual([...layersFound, ...(final ?? [])], want)
      }
    }
  }
})

test('feed: what is asked for again is the same again, and so it is after a restart', async (t) => {
  const { open } = await feedRig(t, rows(40))
  const opened = await open()
  await opened.feed.begin('t', null)
  const batches = await batchesFrom(opened)
  assert.deepEqual(await fed(opened, 3), batches[3])
  assert.deepEqual(await fed(opened, 3), batches[3])
  assert.deepEqual(await fed(opened, 0), batches[0])
  const later = await open()
  assert.equal(await later.feed.next(5), 'unbegun')
  await later.feed.begin('t', null)
  assert.deepEqual(await batchesFrom(later, 5), batches.slice(5))
})

test('feed: resumed elsewhere from its record, though the store has grown since', async (t) => {
  const rig = await feedRig(t, rows(50), { stored: 30 })
  const opened = await rig.open()
  await opened.feed.begin('t', null)
  const batches = await batchesFrom(opened)
  const record = opened.feed.record()
  await rig.add(rig.samples.slice(30))
  const elsewhere = await feedRig(t, rows(50), { store: rig.store, stored: 0 })
  const resumed = await elsewhere.open()
  await resumed.feed.begin('t', record)
  assert.deepEqual(await batchesFrom(resumed, 4), batches.slice(4))
  const anew = await elsewhere.open()
  assert.equal((await anew.feed.begin('another', null)).samples, 50)
})

test('feed: the order of the dataset changes nothing', async (t) => {
  const rig = await feedRig(t, rows(30))
  const opened = await rig.open()
  await opened.feed.begin('t', null)
  const batches = await batchesFrom(opened)
  await writeRows(rig.input.dataset.path, rows(30).reverse(), { shards: 3 })
  const turned = await rig.open()
  await turned.feed.begin('u', null)
  assert.deepEqual(await batchesFrom(turned), batches)
})

test('feed: samples that are gone or damaged are named, and not trained on', async (t) => {
  const { open, samples, store } = await feedRig(t, rows(24))
  const [gone, flipped, cut, ...others] = samples
  const keyOf = ({ entry }: StoredSample) =>
    `hidden-states/${entry.hash.slice(0, 2)}/${entry.hash}-` +
    `${entry.crc32.toString(16).padStart(8, '0')}.safetensors`
  await store.remove(keyOf(gone))
  flipped.bytes[flipped.bytes.length - 3] ^= 1
  await store.put(keyOf(flipped), flipped.bytes)
  await store.put(keyOf(cut), cut.bytes.subarray(0, 100))
  const opened = await open()
  await opened.feed.begin('t', null)
  const batches = await batchesFrom(opened)
  const good = byHash(others)
  for (const batch of batches) assertFilled(batch, good)
  assert.equal(hashesIn(batches).length, 2 * others.length)
  const { count, latest } = opened.leftOut
  assert.equal(count, 3)
  const reasons = new Map(latest.map(({ hash, reason }) => [hash, reason]))
  assert.match(reasons.get(gone.entry.hash) ?? '', /its object is not there/)
  assert.match(reasons.get(flipped.entry.hash) ?? '', /its object is damaged.*crc32/)
  assert.match(reasons.get(cut.entry.hash) ?? '', /its object is damaged.*bytes: want=/)
})

test('feed: a store that has lost everything ends the training', async (t) => {
  const { open, samples, store } = await feedRig(t, rows(60))
  const opened = await open()
  await opened.feed.begin('t', null)
  for await (const { key } of store.list('hidden-states/')) await store.remove(key)
  await assert.rejects(batchesFrom(opened), (error) => isFailure(error, 'corrupt'))
  assert.ok(opened.leftOut.count < samples.length)
})

test('feed: rows without an anchor are left out; masks of one sample join', async (t) => {
  const of = (ids: number[], mask: number[]) => ({ ids, mask })
  const { open } = await feedRig(t, [
    of([1, 2, 3], [0, 1, 1]),
    of([4, 5, 6], [0, 1, 0]),
    // Each alone has no two tokens in a row that are trained on.
    of([7, 8, 9], [1, 0, 0]),
    of([7, 8, 9], [0, 1, 0]),
    of([1, 2, 3], [0, 0, 1]),
    of([10, 11], [0, 0]),
  ])
  const opened = await open()
  const { rows: counts, samples } = await opened.feed.begin('t', null)
  assert.equal(samples, 2)
  assert.deepEqual(counts, {
    rows: 6,
    repeated: 2,
    skipped: { 'no supervised token': 1 },
    withoutAnchor: 1,
  })
  const batches = await batchesFrom(opened)
  const masks = batches.flatMap(({ rows, lossMask, shape }) =>
    rows.map((_, i) => [...lossMask.subarray(i * shape.tokens, i * shape.tokens + 3)].join('')),
  )
  assert.deepEqual(new Set(masks), new Set(['011', '110']))
})

test('feed: what is held out is never trained on, and comes as batches of its own', async (t) => {
  const rig = await feedRig(t, rows(100), { train: { heldOut: 0.1 }, stored: 80 })
  const opened = await rig.open()
  const { heldOut } = await opened.feed.begin('t', null)
  assert.equal(heldOut, 10)
  const trained = new Set(hashesIn(await batchesFrom(opened)))
  const held = async () => {
    const batches: TrainingBatch[] = []
    for (let n = 0; ; n++) {
      const batch = await opened.feed.heldOut(n)
      if (!batch) return batches
      batches.push(batch)
    }
  }
  const batches = await held()
  assert.deepEqual(await held(), batches)
  for (const batch of batches) assertFilled(batch, byHash(rig.samples))
  const out = hashesIn(batches)
  assert.equal(trained.size + out.length, 80)
  assert.ok(out.every((hash) => !trained.has(hash)))
  // More rows, in another order: no sample changes sides.
  await writeRows(rig.input.dataset.path, rows(300).reverse())
  const extended = await rig.open()
  await extended.feed.begin('t', opened.feed.record())
  assert.deepEqual(await extended.feed.heldOut(0), batches[0])
})

test('feed: another configuration than the training’s is refused, each value named', async (t) => {
  const { open, input } = await feedRig(t, rows(20), { train: { heldOut: 0.2 } })
  const { feed } = await open()
  await feed.begin('t', null)
  const { train } = input
  const changed = await open({ train: { ...train, tokensPerBatch: 2048, heldOut: null } })
  await assert.rejects(
    () => changed.feed.begin('t', feed.record()),
    (error) =>
      isFailure(error, 'invalid') &&
      /train\.tokensPerBatch: training=1024, now=2048/.test(error.message) &&
      /train\.heldOut: training=0\.2, now=null/.test(error.message),
  )
  await assert.rejects(
    () => feed.begin('another', feed.record()),
    (error) => isFailure(error, 'invalid'),
  )
  await assert.rejects(
    () => feed.begin('t', feed.record().subarray(1)),
    (error) => isFailure(error, 'corrupt'),
  )
})

test('feed: nothing to train on is told before the first batch', async (t) => {
  const none = await feedRig(t, rows(10), { stored: 0 })
  const { feed } = await none.open()
  const told = (error: unknown) =>
    isFailure(error, 'invalid') && /no sample to train on.*stored=0/.test(error.message)
  await assert.rejects(() => feed.begin('t', null), told)
  assert.equal(await feed.next(0), 'unbegun')
  const huge = { ...none.input.identity, hiddenSize: 200_000 }
  await assert.rejects(
    none.open({ identity: huge, train: { ...none.input.train, tokensPerBatch: 16_384 } }),
    (error) =>
      isFailure(error, 'invalid') && /Lower train\.tokensPerBatch/.test(error.remedy ?? ''),
  )
  const unsupervised = await feedRig(t, [[1], [2]])
  const opened = await unsupervised.open()
  await assert.rejects(
    () => opened.feed.begin('t', null),
    (error) => isFailure(error, 'invalid') && /without an anchor=2/.test(error.message),
  )
})

test('feed: of 100 rows, 8 a batch, the last 4 come too, told as the last (B49)', async (t) => {
  const train = { tokensPerBatch: 8 * 64, epochs: 1 }
  const { open } = await feedRig(
    t,
    rows(100, () => 60),
    { train },
  )
  const opened = await open()
  await opened.feed.begin('t', null)
  const batches = await batchesFrom(opened)
  const counts = batches.map((batch) => batch.rows.length)
  assert.deepEqual(counts, [...new Array<number>(12).fill(8), 4])
  assert.deepEqual(
    batches.map(({ isLastOfEpoch }) => isLastOfEpoch),
    counts.map((count) => count === 4),
  )
  assert.equal(await opened.feed.next(13), 'finished')
})

test('feed: no more is read ahead than may be in memory', async (t) => {
  const train = { tokensPerBatch: 1024, queueBytes: 100_000 }
  const { open } = await feedRig(
    t,
    rows(200, () => 60),
    { train },
  )
  const opened = await open()
  await opened.feed.begin('t', null)
  let most = 0
  for (let plan = 0; (await fed(opened, plan)) !== 'finished'; plan++) {
    most = Math.max(most, opened.feed.status().ahead.bytes)
  }
  // Three quarters of it; full batches take 25,600 bytes.
  assert.ok(most >= 51_200 && most <= 75_000, `${most} bytes`)
})
