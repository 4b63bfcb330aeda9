import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deferred } from '../../../protocol/deferred.ts'
import { ledgerRig, spoolSample } from '../../support/ledger-rig.ts'

test('ledger: a sample that is spooled again for a torn file is counted once', async (t) => {
  const rig = await ledgerRig(t)
  for (const first of [1, 2]) await rig.spooled(first)
  for (let i = 0; i < 2; i++) {
    await rig.ledger.torn((await rig.lease())?.id ?? 0, 'cut')
    await rig.spooled(i + 1)
  }
  const { samples, tokens } = rig.ledger.status().spooled
  assert.deepEqual([samples, rig.ledger.status().spool.files], [2, 2])
  assert.ok(tokens > 0)
})

test('ledger: one found in the spool, torn and spooled again is counted at last', async (t) => {
  const rig = await ledgerRig(t)
  await rig.ledger.recovered(await spoolSample(rig.spool, 1))
  assert.equal(rig.ledger.status().spooled.samples, 0)
  await rig.ledger.torn((await rig.lease())?.id ?? 0, 'cut')
  await rig.spooled(1)
  assert.equal(rig.ledger.status().spooled.samples, 1)
})

test('ledger: a file that takes a torn one’s place while that is removed is kept', async (t) => {
  const [gone, go] = [deferred<void>(), deferred<void>()]
  const rig = await ledgerRig(t, {
    around: (spool) => ({
      ...spool,
      remove: async (sample) => {
        await spool.remove(sample)
        gone.resolve()
        await go.promise
      },
    }),
  })
  const sample = await rig.spooled(1)
  const removing = rig.ledger.torn((await rig.lease())?.id ?? 0, 'cut')
  await gone.promise
  await rig.spooled(1)
  go.resolve()
  await removing
  assert.ok(rig.isThere(sample))
  const { spool, spooled, toSend } = rig.ledger.status()
  assert.deepEqual([spool.files, spool.bytes, spooled.samples], [1, sample.bytes, 1])
  assert.deepEqual([toSend, (await rig.lease())?.sample.hash], [1, sample.hash])
})
