import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AwaitedEnd } from '../../../protocol/console.ts'
import { deferred } from '../../../protocol/deferred.ts'
import type { SourceStatus } from '../../../protocol/source.ts'
import { systemClock } from '../../../src/clock.ts'
import { parseConfig } from '../../../src/config/load.ts'
import { Control } from '../../../supervisors/run/control.ts'
import { RequestCap } from '../../../supervisors/run/request-cap.ts'
import { puppetContract } from '../../support/actors/puppet-contract.ts'
import { silent } from '../../support/ledger-rig.ts'
import { ledgerPeer, readerPeer } from '../../support/peers.ts'
import { runStatus } from '../../support/statuses.ts'
import { plant, puppet, supervisor } from '../../support/trees.ts'

const { config } = parseConfig('store: file:///s\ndataset: { path: d }\ntarget: { path: t }', {
  name: 'test',
  base: '/',
})

/** A control of a tree of one puppet; the run is paused. */
function open(t: TestContext, answers: { readonly status?: () => Promise<SourceStatus> } = {}) {
  const planted = plant(t, supervisor('root', [puppet()]))
  const ledger = ledgerPeer(t, {})
  const source = readerPeer(t, answers)
  const control = new Control({
    ...{ config, log: silent, clock: systemClock, cap: new RequestCap(config.upload, systemClock) },
    status: () => runStatus({ state: 'paused' }),
    send: () => undefined,
    tellPaused: async () => undefined,
    look: async () => undefined,
    planted: () => ({ tree: planted.tree, ledger, source, training: null }),
  })
  return { control, planted }
}

test('control: each of two that kill the same actor hears once that it waits', async (t) => {
  const { control, planted } = open(t)
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  const settled = Promise.allSettled([client.ask.insideGate({ ms: 600, announcedMs: 20_000 })])
  while (planted.tree.status().children[0]?.busy?.work !== 'inside') {
    await new Promise(setImmediate)
  }
  const heard: [string, AwaitedEnd][] = []
  const kills = ['first', 'second'].map((who) =>
    control.kill('puppet', (wait) => heard.push([who, wait])),
  )
  for (const event of planted.events) control.heard(event)
  // The end of one leaves the other's listener alone.
  for (const event of planted.events) control.heard(event)
  assert.deepEqual(
    heard.map(([who, { work }]) => [who, work]),
    [
      ['first', 'inside'],
      ['second', 'inside'],
    ],
  )
  for (const killed of await Promise.all(kills)) assert.equal(killed?.waitedFor, 'inside')
  await settled
})

test('control: who waits for a drain no more is let go though nobody answers it', async (t) => {
  const asked = deferred<void>()
  const { control } = open(t, {
    status: () => {
      asked.resolve()
      return new Promise(() => undefined)
    },
  })
  const leaving = new AbortController()
  const drained = control.drain(leaving.signal)
  await asked.promise
  leaving.abort()
  await assert.rejects(drained, { kind: 'unavailable', message: /nobody waits for the drain/ })
})
