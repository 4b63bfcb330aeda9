import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { OpenedFeed } from '../../../actors/loader/open.ts'
import { isFailure } from '../../../src/failure.ts'
import { batchesFrom, feedRig, rowOf } from '../../support/feed.ts'
import { writeRows } from '../../support/rows.ts'

const rows = (count: number): number[][] =>
  Array.from({ length: count }, (_, n) => rowOf(n, 5 + ((n * 37) % 150)))

/** Hashes of what a look is at. */
async function looked({ feed }: OpenedFeed): Promise<string[]> {
  const hashes: string[] = []
  for (let n = 0; ; n++) {
    const batch = await feed.heldOut(n)
    if (!batch) return hashes.sort()
    hashes.push(...batch.rows.map(({ hash }) => hash))
  }
}

test('held out: of it the same few samples are looked at, whatever comes', async (t) => {
  const train = { heldOut: 0.5, heldOutSamples: 7 }
  // While samples still come, those of the seven that are there; then all seven.
  const rig = await feedRig(t, rows(40), { train, stored: 25, input: { follows: true } })
  const opened = await rig.open()
  await opened.feed.begin('t', null)
  const early = await looked(opened)
  await rig.add(rig.samples.slice(25))
  opened.feed.extractionEnded()
  await batchesFrom(opened)
  const late = await looked(opened)
  assert.equal(late.length, 7)
  assert.ok(early.length < 7 && early.every((hash) => late.includes(hash)))
  assert.deepEqual(await looked(opened), late)
  // Rows in another order, on another machine: the same.
  await writeRows(rig.input.dataset.path, rows(40).reverse())
  const again = await rig.open()
  await again.feed.begin('t', opened.feed.record())
  assert.deepEqual(await looked(again), late)
  // Of a store that has a part of the samples, and gets no more, as many.
  const partly = await feedRig(t, rows(40), { train, stored: 25 })
  const part = await partly.open()
  await part.feed.begin('t', null)
  assert.equal((await looked(part)).length, 7)
})

test('held out: of rows that cannot be trained on there is no share, and why', async (t) => {
  const unanchored = rows(6).map((ids) => ({ ids, mask: ids.map(() => 0).with(-1, 1) }))
  for (const heldOut of [0.5, null]) {
    const { open } = await feedRig(t, unanchored, { train: { heldOut } })
    const { feed } = await open()
    await assert.rejects(
      () => feed.begin('t', null),
      (error) =>
        isFailure(error, 'invalid') &&
        /there is no sample to train on\. rows=6, .*without an anchor=6/.test(error.message),
    )
  }
})

/** Asks for a batch, and keeps nothing of it. */
async function asked({ feed }: OpenedFeed): Promise<WeakRef<object>> {
  return new WeakRef((await feed.heldOut(0)) ?? assert.fail('nothing is held out'))
}

test('held out: a batch that was given away is kept by nothing', async (t) => {
  const { open } = await feedRig(t, rows(20), { train: { heldOut: 0.5 } })
  const opened = await open()
  await opened.feed.begin('t', null)
  const batch = await asked(opened)
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  for (let tries = 0; batch.deref() && tries < 100; tries++) {
    await turn()
    collect()
  }
  assert.ok(batch.deref() === undefined)
})
