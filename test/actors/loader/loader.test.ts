import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrainingBatch } from '../../../src/feed/training-batch.ts'
import { rowOf } from '../../support/feed.ts'
import { type LoaderTree, loaderTree } from '../../support/loader-tree.ts'
import { startOf } from '../../support/trees.ts'

const rows = (count: number, tokens: number): number[][] =>
  Array.from({ length: count }, (_, n) => rowOf(n, tokens + (n % 60)))

async function all({ fed }: LoaderTree, first = 0): Promise<TrainingBatch[]> {
  const batches: TrainingBatch[] = []
  for (let plan = first; ; plan++) {
    const batch = await fed(plan)
    if (batch === 'finished') return batches
    batches.push(batch)
  }
}

const hashesIn = (batches: readonly TrainingBatch[]): string[] =>
  batches.flatMap((batch) => batch.rows.map(({ hash }) => hash))

test('loader: the first batch of 2000 samples takes few gets (B31)', async (t) => {
  const train = { tokensPerBatch: 4096, queueBytes: '1GB', heldOut: 0.02 }
  const tree = await loaderTree(t, rows(2000, 200), { place: 's3', train })
  const size = await tree.ask.begin({ training: 't', record: null })
  assert.equal(size.samples, 1960)
  const gets = async () => (await tree.s3?.stats())?.requests.GetObject ?? 0
  const before = await gets()
  const first = await tree.fed(0)
  const taken = (await gets()) - before
  assert.ok(typeof first === 'object')
  assert.ok(taken >= first.rows.length && taken <= 50, `${taken} gets`)
})

for (const place of ['s3', 'file'] as const) {
  test(`loader: killed in mid-epoch, on ${place}, it goes on where it was`, async (t) => {
    const tree = await loaderTree(t, rows(150, 100), { place })
    const batches = [await tree.fed(0), await tree.fed(1)]
    await tree.tree.kill('loader')
    await tree.until(startOf('loader', 2))
    const rest = await all(tree, 2)
    const whole = await all(tree)
    assert.deepEqual(whole.slice(0, 2), batches)
    assert.deepEqual(whole.slice(2), rest)
    const seen = hashesIn(whole.filter(({ epoch }) => epoch === 0))
    assert.deepEqual([seen.length, new Set(seen).size], [150, 150])
    const { leftOut, plan, training } = await tree.status()
    assert.deepEqual([leftOut.samples, plan, training], [0, whole.length - 1, 't'])
  })
}

test('loader: killed while it follows a run, it gives each sample once an epoch', async (t) => {
  const input = { follows: true }
  const tree = await loaderTree(t, rows(120, 100), { place: 'file', stored: 40, input })
  const first = [await tree.fed(0), await tree.fed(1)]
  await tree.add(tree.samples.slice(40, 80))
  await tree.tree.kill('loader')
  await tree.until(startOf('loader', 2))
  const second = [await tree.fed(2), await tree.fed(3)]
  await tree.add(tree.samples.slice(80, 110))
  // Ten were never stored: that no more come is told, to each life of the loader.
  await tree.tree.kill('loader')
  await tree.until(startOf('loader', 3))
  await tree.loader.again((ask) => ask.extractionEnded())
  const whole = await all(tree)
  assert.deepEqual(whole.slice(0, 4), [...first, ...second])
  for (const epoch of [0, 1]) {
    const seen = hashesIn(whole.filter((batch) => batch.epoch === epoch))
    assert.deepEqual([seen.length, new Set(seen).size], [110, 110])
  }
})

test('loader: it reads sixteen samples at once, each with a permit of the ledger', async (t) => {
  const tree = await loaderTree(t, rows(100, 100), { place: 's3' })
  const match = { operation: 'GetObject', key: 'hidden-states/' }
  // Answered once so many of them are open together: none of them before.
  await tree.s3?.setFaults([{ kind: 'hold', times: 16, match }])
  await tree.s3?.statsAnew()
  assert.ok(typeof (await tree.fed(0)) === 'object')
  const peak = (await tree.s3?.stats())?.peak ?? 0
  assert.ok(peak >= 16 && peak <= 19, `peak=${peak}`)
  await tree.tree.kill('ledger')
  await tree.until(startOf('ledger', 2))
  assert.ok(typeof (await tree.fed(9)) === 'object')
})

test('loader: what goes wrong on the way is asked for again; no sample is left out', async (t) => {
  const tree = await loaderTree(t, rows(60, 100), { place: 's3', train: { epochs: 1 } })
  const match = { operation: 'GetObject', key: 'hidden-states/' }
  await tree.s3?.setFaults([
    { kind: 'portal', times: 5, match },
    { kind: 'cut-answer', times: 5, match },
    { kind: 'error', status: 503, code: 'SlowDown', times: 10, match },
    { kind: 'reset', times: 5, match },
  ])
  assert.equal(new Set(hashesIn(await all(tree))).size, 60)
  assert.deepEqual(await tree.s3?.faultsLeft(), [])
  const { away, leftOut, read } = await tree.status()
  assert.deepEqual([away, leftOut.samples, read.store], [null, 0, 60])
})

test('loader: what it gives away is the asker’s, and the record is whole', async (t) => {
  const tree = await loaderTree(t, rows(80, 100), { place: 'file', train: { heldOut: 0.25 } })
  const size = await tree.ask.begin({ training: 't', record: null })
  const trained = hashesIn(await all(tree))
  const held = await tree.ask.heldOut({ training: 't', batch: 0 })
  assert.ok(held.kind === 'batch' && held.batch.rows.length > 0 && held.batch.hidden.length > 0)
  assert.ok(held.batch.rows.every(({ hash }) => !trained.includes(hash)))
  const told = await tree.ask.record({ training: 't' })
  assert.ok(told.kind === 'record')
  assert.deepEqual(await tree.ask.begin({ training: 't', record: told.record }), size)
  assert.equal((await tree.ask.record({ training: 'another' })).kind, 'unbegun')
  assert.equal((await tree.ask.heldOut({ training: 'another', batch: 0 })).kind, 'unbegun')
})
