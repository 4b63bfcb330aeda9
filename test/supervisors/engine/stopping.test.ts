import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../../../src/clock.ts'
import { askerContract } from '../../support/actors/asker-contract.ts'
import { newCounts, puppetContract, type Way } from '../../support/actors/puppet-contract.ts'
import { asker, plant, puppet, supervisor } from '../../support/trees.ts'

test('stop: drains from the source, then ends threads in reverse order', async (t) => {
  const ledger = puppet('ledger', { drainsAfter: ['uploader'] })
  const uploader = puppet('uploader', { drainsAfter: ['extractor'], input: { drainTakesMs: 50 } })
  const extractor = puppet('extractor', { drainsAfter: [], input: { drainTakesMs: 100 } })
  const planted = plant(
    t,
    supervisor('root', [supervisor('storage', [ledger, uploader]), supervisor('x', [extractor])]),
  )
  await planted.tree.start()
  await planted.tree.stop()
  assert.deepEqual(planted.story('drained', 'undrained', 'ended', 'died'), [
    'drained extractor',
    'drained uploader',
    'drained ledger',
    'ended extractor',
    'ended uploader',
    'ended ledger',
  ])
  assert.equal(planted.tree.status().state, 'stopped')
})

test('stop: one that cannot drain in its time is ended, and others go on', async (t) => {
  const slow = puppet('slow', { drainMs: 100, input: { drainTakesMs: 60_000 } })
  const after = puppet('after', { drainsAfter: ['slow'] })
  const planted = plant(t, supervisor('root', [after, slow]))
  await planted.tree.start()
  await planted.tree.stop()
  assert.deepEqual(planted.story('drained', 'undrained', 'ended'), [
    'undrained slow',
    'drained after',
    'ended slow',
    'ended after',
  ])
})

test('stop: hurry waits for no drain, also in a stop that has begun', async (t) => {
  const slow = puppet('slow', { drainMs: 60_000, input: { drainTakesMs: 60_000 } })
  const planted = plant(t, supervisor('root', [slow]))
  await planted.tree.start()
  const stopped = planted.tree.stop()
  await planted.tree.stop({ hurry: true })
  await stopped
  assert.deepEqual(planted.story('drained', 'undrained', 'left', 'ended'), [
    'left slow',
    'ended slow',
  ])
})

test('stop: in a hurry a thread inside its gate is left there, which is no fault', async (t) => {
  const planted = plant(t, supervisor('root', [puppet()]))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  const inside = client.ask.insideGate({ ms: 4_000, announcedMs: 60_000 }).catch(() => undefined)
  while (planted.tree.status().children[0]?.busy?.work !== 'inside') await sleep(20)
  await planted.tree.stop({ hurry: true })
  const ends = planted.events.filter(({ kind }) => kind === 'left' || kind === 'wedged')
  assert.deepEqual(
    ends.map((event) => [event.kind, 'work' in event && event.work, 'hurried' in event]),
    [
      ['left', 'inside', false],
      ['wedged', false, true],
    ],
  )
  await inside
  // It is outside now; here it is not the process that ends.
  await planted.tree.kill('puppet')
})

test('stop: a thread that exits cleanly while it drains is not replaced', async (t) => {
  const planted = plant(
    t,
    supervisor('root', [puppet('puppet', { input: { drainTakesMs: 60_000 } })]),
  )
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  const stopped = planted.tree.stop()
  await client.ask.die('exit 0').catch(() => undefined)
  await stopped
  assert.deepEqual(planted.story('started', 'died', 'restarting'), [
    'started puppet',
    'died puppet',
  ])
  assert.equal(planted.tree.status().children[0]?.state, 'stopped')
  assert.equal(planted.tree.status().children[0]?.restarts, 0)
})

test('stop: a child that waits for its backoff is not started any more', async (t) => {
  const backoff = { firstMs: 200, factor: 1, capMs: 200, jitter: 0, quietMs: 60_000 }
  const planted = plant(t, supervisor('root', [puppet()], { backoff }))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  await client.ask.die('throw').catch(() => undefined)
  await planted.until((event) => event.kind === 'restarting')
  await planted.tree.stop()
  await sleep(400)
  assert.deepEqual(planted.story('started'), ['started puppet'])
  assert.equal(planted.tree.status().children[0]?.state, 'stopped')
})

test('stop: of one that was up and is away what it held is not drained', async (t) => {
  const backoff = { firstMs: 60_000, factor: 1, capMs: 60_000, jitter: 0, quietMs: 60_000 }
  const children = [
    puppet('away'),
    puppet('finished', { restart: 'on-failure' }),
    puppet('never', { input: { failingStarts: 99 } }),
  ]
  const planted = plant(t, supervisor('root', children, { backoff }))
  const started = assert.rejects(planted.tree.start(), /stopped before all was up/)
  await planted.until(({ kind, child }) => kind === 'restarting' && child === 'never')
  const die = (id: string, way: Way) =>
    planted.tree
      .client(id, puppetContract)
      .ask.die(way)
      .catch(() => undefined)
  await die('finished', 'exit 0')
  await die('away', 'throw')
  await planted.until(({ kind, child }) => kind === 'restarting' && child === 'away')
  await planted.tree.stop()
  await started
  assert.deepEqual(planted.story('drained', 'undrained'), ['undrained away'])
})

test('stop: nothing starts once it has begun, and a start under way fails', async (t) => {
  const planted = plant(t, supervisor('root', [puppet('a'), puppet('b')]))
  const started = planted.tree.start()
  const stopped = planted.tree.stop()
  await assert.rejects(started, /stopped before all was up/)
  await stopped
  assert.deepEqual(await planted.tree.restart('b'), { did: 'nothing', state: 'stopped' })
  assert.equal(await planted.tree.kill('b'), null)
  assert.deepEqual(planted.story('started'), [])
})

test('stop: what this thread still asks is rejected', async (t) => {
  const planted = plant(t, supervisor('root', [puppet()]))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  const hanging = client.ask.job('hang')
  const settled = assert.rejects(hanging, /actor=puppet, request=job/)
  await planted.tree.stop()
  await settled
  await assert.rejects(client.ask.generation(), /actor=puppet, request=generation/)
})

test('stop: who asks one that died and does not come back is answered', async (t) => {
  const lost = puppet('puppet', { restart: 'never' })
  const planted = plant(
    t,
    supervisor('root', [
      lost,
      asker('asker', { drainsAfter: ['slow'] }),
      puppet('slow', { input: { drainTakesMs: 60_000 } }),
    ]),
  )
  await planted.tree.start()
  await planted.tree
    .client('puppet', puppetContract)
    .ask.die('throw')
    .catch(() => undefined)
  await planted.until((event) => event.kind === 'died')
  const waiting = planted.tree.client('asker', askerContract).ask.jobAgain('hang')
  const stopped = planted.tree.stop()
  await assert.rejects(waiting, /the actor is not there. actor=puppet/)
  await planted.tree.stop({ hurry: true })
  await stopped
})

test('stop: each actor is told to drain once', async (t) => {
  const counts = newCounts()
  const planted = plant(t, supervisor('root', [puppet('puppet', { input: { counts } })]))
  await planted.tree.start()
  await Promise.all([planted.tree.stop(), planted.tree.stop()])
  assert.equal(counts[1], 1)
})
