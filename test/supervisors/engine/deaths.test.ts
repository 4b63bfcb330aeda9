import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PeerEnded } from '../../../protocol/channel.ts'
import { explain, isFailure } from '../../../src/failure.ts'
import { puppetContract, type Way } from '../../support/actors/puppet-contract.ts'
import { plant, puppet, startOf, supervisor } from '../../support/trees.ts'

const ways: readonly { readonly way: Way; readonly cause: string; readonly reason: RegExp }[] = [
  { way: 'exit 0', cause: 'clean', reason: /exit code 0/ },
  { way: 'exit 3', cause: 'crash', reason: /exit code 3/ },
  { way: 'throw', cause: 'crash', reason: /thrown later/ },
  { way: 'reject', cause: 'crash', reason: /a rejection that nobody handles/ },
  { way: 'bug', cause: 'crash', reason: /a bug in a handler/ },
]

for (const { way, cause, reason } of ways) {
  test(`a thread that ends by ${way} is told as ${cause}, and starts again`, async (t) => {
    const planted = plant(t, supervisor('root', [puppet()]))
    await planted.tree.start()
    const client = planted.tree.client('puppet', puppetContract)
    await client.ask.die(way).catch((error: unknown) => assert.ok(error instanceof PeerEnded))
    await planted.until(startOf('puppet', 2))

    const died = planted.events.find((event) => event.kind === 'died')
    assert.equal(died?.death.cause, cause)
    assert.match(died.death.reason, reason)
    assert.equal(await client.ask.generation(), 2)
    const [row] = planted.tree.status().children
    assert.equal(row?.restarts, 1)
    assert.match(row?.lastCause ?? '', reason)
  })
}

test('a thread that answers what cannot be cloned ends by it, and its asker is told', async (t) => {
  const planted = plant(t, supervisor('root', [puppet()]))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  await assert.rejects(client.ask.unclonable(), PeerEnded)
  await planted.until(startOf('puppet', 2))
  const died = planted.events.find((event) => event.kind === 'died')
  assert.match(died?.death.reason ?? '', /could not be cloned/)
})

test('a thread that fails at its start never runs, and its Failure is told', async (t) => {
  const planted = plant(t, supervisor('root', [puppet('puppet', { input: { failingStarts: 1 } })]))
  await planted.tree.start()

  assert.deepEqual(planted.story('started', 'died', 'restarting'), [
    'died puppet',
    'restarting puppet',
    'started puppet',
  ])
  const died = planted.events.find((event) => event.kind === 'died')
  assert.equal(died?.death.cause, 'start')
  assert.equal(died.death.failure?.kind, 'unavailable')
  assert.equal(died.death.failure.message, 'no such model. path=/nowhere')
  assert.equal(died.death.failure.remedy, 'Give a path that is there.')
  assert.ok(died.death.failure.cause instanceof Error)
  assert.equal(died.death.failure.cause.message, 'ENOENT')
})

test('a thread that always fails at its start is given up, with its remedy', async (t) => {
  const planted = plant(t, supervisor('root', [puppet('puppet', { input: { failingStarts: 99 } })]))
  await assert.rejects(planted.tree.start(), {
    kind: 'unavailable',
    message: 'too many restarts. supervisor=root, child=puppet, max=3 in 60000 ms, last=start',
    remedy: 'Give a path that is there.',
  })
  assert.equal(planted.story('died').length, 4)
  assert.equal(planted.gaveUp.length, 1)
  assert.deepEqual(planted.story('started'), [])
  assert.equal(planted.tree.status().state, 'abandoned')
  assert.equal(planted.tree.status().children[0]?.state, 'abandoned')
})

test('a start that no waiting mends is given up at once, at every depth', async (t) => {
  const input = { failingStarts: 99, startFailure: 'invalid' } as const
  const inner = supervisor('s', [puppet('puppet', { input })])
  const planted = plant(t, supervisor('root', [inner]))
  await assert.rejects(planted.tree.start(), (error) => {
    assert.ok(isFailure(error, 'invalid'))
    assert.equal(error.remedy, 'Give a path that is there.')
    assert.deepEqual(explain(error).split(': '), [
      'cannot start. supervisor=root, child=s, last=start',
      'cannot start. supervisor=s, child=puppet, last=start',
      'no such model. path=/nowhere',
      'ENOENT',
    ])
    return true
  })
  assert.deepEqual(planted.story('died', 'restarting'), ['died puppet', 'died s'])
})

test('a thread that never says it is ready is ended, and that is told', async (t) => {
  const mute = puppet('puppet', { readyMs: 300, input: { mute: true } })
  const planted = plant(t, supervisor('root', [mute], { restarts: { max: 0, withinMs: 1_000 } }))
  await assert.rejects(planted.tree.start(), (error) => {
    assert.ok(isFailure(error, 'unavailable') && error.remedy !== undefined)
    assert.match(explain(error), /last=start: not ready in time. readyMs=300/)
    return true
  })
})

test('a thread that loops unannounced is ended once its heartbeat has passed', async (t) => {
  const planted = plant(t, supervisor('root', [puppet('puppet', { heartbeatMs: 600 })]))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  await assert.rejects(client.ask.block({ ms: 60_000 }), PeerEnded)
  await planted.until(startOf('puppet', 2))
  const died = planted.events.find((event) => event.kind === 'died')
  assert.equal(died?.death.cause, 'deadline')
  assert.match(died.death.reason, /no sign of life/)
})

test('a thread that announced its work is left alone until the deadline, then ended', async (t) => {
  const planted = plant(t, supervisor('root', [puppet('puppet', { heartbeatMs: 600 })]))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  await client.ask.block({ ms: 1_800, announcedMs: 20_000 })
  assert.deepEqual(planted.story('died'), [])

  await assert.rejects(client.ask.block({ ms: 60_000, announcedMs: 600 }), PeerEnded)
  await planted.until(startOf('puppet', 2))
  const died = planted.events.find((event) => event.kind === 'died')
  assert.equal(died?.death.cause, 'deadline')
  assert.match(died.death.reason, /busy past its deadline. work=spinning, deadlineMs=600/)
})

test('a thread inside its gate past its deadline is wedged: told, not terminated', async (t) => {
  const planted = plant(t, supervisor('root', [puppet('puppet', { heartbeatMs: 600 })]))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  // It would be aborted with the whole process; so it is told, and answers when it comes outside.
  const answer = client.ask.insideGate({ ms: 1_500, announcedMs: 200 })
  await planted.until((event) => event.kind === 'wedged')
  assert.deepEqual(planted.wedged[0]?.cause, 'deadline')
  assert.match(planted.wedged[0]?.reason ?? '', /work=inside/)
  assert.equal(planted.tree.status().children[0]?.state, 'abandoned')
  await answer
  assert.deepEqual(planted.story('awaited', 'died', 'restarting'), [])
})

test('a kill waits for the thread to come outside its gate, and says so', async (t) => {
  const planted = plant(t, supervisor('root', [puppet()]))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  // Whether its answer is still on its way by then does not matter; that it settles does.
  const settled = Promise.allSettled([client.ask.insideGate({ ms: 600, announcedMs: 20_000 })])
  while (planted.tree.status().children[0]?.busy?.work !== 'inside') {
    await new Promise(setImmediate)
  }
  const { pid, waitedFor } = (await planted.tree.kill('puppet')) ?? assert.fail('it is not up')
  assert.deepEqual({ pid, waitedFor }, { pid: null, waitedFor: 'inside' })
  await settled
  await planted.until(startOf('puppet', 2))
  assert.deepEqual(planted.wedged, [])
  assert.deepEqual(planted.story('awaited', 'died'), ['awaited puppet', 'died puppet'])
})
