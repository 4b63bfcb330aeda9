import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Strategy } from '../../../protocol/child.ts'
import { explain } from '../../../src/failure.ts'
import { newCounts, puppetContract } from '../../support/actors/puppet-contract.ts'
import { type Planted, plant, puppet, startOf, supervisor } from '../../support/trees.ts'

const ways: Readonly<Record<string, (planted: Planted, id: string) => Promise<unknown>>> = {
  'a clean exit': ({ tree }, id) =>
    tree
      .client(id, puppetContract)
      .ask.die('exit 0')
      .catch(() => undefined),
  'an exception': ({ tree }, id) =>
    tree
      .client(id, puppetContract)
      .ask.die('throw')
      .catch(() => undefined),
  'a kill': ({ tree }, id) => tree.kill(id),
}

const restarted: Readonly<Record<Strategy, readonly string[]>> = {
  'one-for-one': ['b'],
  'rest-for-one': ['b', 'c'],
  'one-for-all': ['a', 'b', 'c'],
}

for (const strategy of ['one-for-one', 'rest-for-one', 'one-for-all'] as const) {
  const again = restarted[strategy]
  for (const [way, end] of Object.entries(ways)) {
    test(`${strategy}: after ${way} of b, ${again.join(', ')} start again`, async (t) => {
      const children = [puppet('a'), puppet('b'), puppet('c')]
      const planted = plant(t, supervisor('root', children, { strategy }))
      await planted.tree.start()
      await end(planted, 'b')
      await planted.until(startOf(again.at(-1) ?? '', 2))

      const others = again.filter((id) => id !== 'b')
      assert.deepEqual(planted.story('started', 'died', 'ended'), [
        ...['a', 'b', 'c'].map((id) => `started ${id}`),
        'died b',
        ...others.toReversed().map((id) => `ended ${id}`),
        ...again.map((id) => `started ${id}`),
      ])
      const rows = planted.tree.status().children
      assert.deepEqual(
        rows.map(({ state }) => state),
        ['running', 'running', 'running'],
      )
      assert.deepEqual(
        rows.map(({ restarts }) => restarts),
        [0, 1, 0],
      )
    })
  }
}

test('start: each child starts when the one before is up, whatever that takes', async (t) => {
  const b = puppet('b', { input: { failingStarts: 2 } })
  const planted = plant(t, supervisor('root', [puppet('a'), b, puppet('c')]))
  await planted.tree.start()
  assert.deepEqual(planted.story('started', 'died'), [
    'started a',
    'died b',
    'died b',
    'started b',
    'started c',
  ])
})

test('start: one-for-all ends those that are up when the next one fails to start', async (t) => {
  const b = puppet('b', { input: { failingStarts: 1 } })
  const children = [puppet('a'), b, puppet('c')]
  const planted = plant(t, supervisor('root', children, { strategy: 'one-for-all' }))
  await planted.tree.start()
  assert.deepEqual(planted.story('started', 'died', 'ended'), [
    'started a',
    'died b',
    'ended a',
    'started a',
    'started b',
    'started c',
  ])
})

test('status: a machine whose clock is set back makes nobody older or younger', async (t) => {
  const planted = plant(t, supervisor('root', [puppet('a')]))
  await planted.tree.start()
  const now = Date.now()
  t.mock.method(Date, 'now', () => now - 3_600_000)
  await planted.tree.kill('a')
  await planted.until(startOf('a', 2))
  const { children, forMs } = planted.tree.status()
  for (const ms of [forMs, children[0]?.forMs ?? -1]) assert.ok(ms >= 0 && ms < 600_000, `${ms}`)
})

test('kill: ordered ends are counted, and never charged', async (t) => {
  const restarts = { max: 0, withinMs: 60_000 }
  const planted = plant(t, supervisor('root', [puppet()], { restarts }))
  await planted.tree.start()
  for (const generation of [2, 3, 4]) {
    await planted.tree.kill('puppet')
    await planted.until(startOf('puppet', generation))
  }
  assert.equal(planted.tree.status().children[0]?.restarts, 3)
  assert.match(planted.tree.status().children[0]?.lastCause ?? '', /ordered: killed/)
  assert.deepEqual(planted.gaveUp, [])
})

test('kill: all below a supervisor start again, in order', async (t) => {
  const planted = plant(t, supervisor('root', [supervisor('s', [puppet('a'), puppet('b')])]))
  await planted.tree.start()
  await planted.tree.kill('s')
  await planted.until(startOf('s', 2))
  assert.deepEqual(planted.story('ended', 'died', 'started').slice(3), [
    'ended b',
    'ended a',
    'died s',
    'started a',
    'started b',
    'started s',
  ])
})

test('kill: an id that nobody has is refused, and those that are there are named', async (t) => {
  const planted = plant(t, supervisor('root', [puppet()]))
  await planted.tree.start()
  const refused = { kind: 'invalid', message: /id=extractor/, remedy: /puppet/ }
  await assert.rejects(planted.tree.kill('extractor'), refused)
  await assert.rejects(planted.tree.restart('extractor'), refused)
  assert.throws(() => planted.tree.client('extractor', puppetContract), refused)
})

test('restart: what it holds is finished first', async (t) => {
  const counts = newCounts()
  const planted = plant(t, supervisor('root', [puppet('puppet', { input: { counts } })]))
  await planted.tree.start()
  await planted.tree.restart('puppet')
  await planted.until(startOf('puppet', 2))
  assert.equal(counts[1], 1)
  assert.deepEqual(planted.story('drained', 'died'), ['drained puppet', 'died puppet'])
})

test('restart policy: never and on-failure stay away, until they are ordered back', async (t) => {
  const never = puppet('never', { restart: 'never' })
  const onFailure = puppet('on-failure', { restart: 'on-failure' })
  const planted = plant(t, supervisor('root', [never, onFailure]))
  await planted.tree.start()
  const died = (child: string, count: number) =>
    planted.until(
      () => planted.story('died').filter((line) => line === `died ${child}`).length === count,
    )

  const asked = planted.tree.client('on-failure', puppetContract)
  await asked.ask.die('throw').catch(() => undefined)
  await planted.until(startOf('on-failure', 2))
  await asked.ask.die('exit 0').catch(() => undefined)
  await planted.tree
    .client('never', puppetContract)
    .ask.die('throw')
    .catch(() => undefined)
  await died('on-failure', 2)
  await died('never', 1)
  const states = () => planted.tree.status().children.map(({ state }) => state)
  assert.deepEqual(states(), ['stopped', 'stopped'])

  assert.deepEqual(await planted.tree.restart('never'), { did: 'started', state: 'running' })
  assert.deepEqual(states(), ['running', 'stopped'])
  assert.equal((await planted.tree.kill('never'))?.state, 'stopped')
  // One that does not come back by itself does by this order.
  await planted.tree.restart('never')
  assert.deepEqual(await planted.tree.restart('never'), { did: 'ended', state: 'running' })
})

test('restart: after a death it waits for no backoff; one that drains is left to it', async (t) => {
  const backoff = { firstMs: 600_000, factor: 1, capMs: 600_000, jitter: 0, quietMs: 60_000 }
  const input = { drainTakesMs: 200 }
  const planted = plant(t, supervisor('root', [puppet('puppet', { input })], { backoff }))
  await planted.tree.start()
  const client = planted.tree.client('puppet', puppetContract)
  await client.ask.die('throw').catch(() => undefined)
  await planted.until((event) => event.kind === 'restarting')
  assert.deepEqual(await planted.tree.restart('puppet'), { did: 'started', state: 'running' })
  const restarted = planted.tree.restart('puppet')
  assert.deepEqual(await planted.tree.restart('puppet'), { did: 'nothing', state: 'draining' })
  assert.equal((await restarted).did, 'ended')
})

test('blame: a death that is the work’s fault is not charged to the child', async (t) => {
  const told: string[] = []
  const blamed = {
    ...puppet('puppet', { input: { shortLives: { lives: 5, afterMs: 0, way: 'exit 3' } } }),
    blame: ({ cause }: { readonly cause: string }) => {
      told.push(cause)
      return 'work' as const
    },
  }
  const restarts = { max: 1, withinMs: 60_000 }
  const planted = plant(t, supervisor('root', [blamed], { restarts }))
  await planted.tree.start()
  await planted.until(startOf('puppet', 6))
  assert.equal(told.length, 5)
  assert.deepEqual(planted.gaveUp, [])
})

test('blame: a death by order is told as such, and charged to nobody', async (t) => {
  const told: string[] = []
  const blamed = {
    ...puppet('puppet'),
    blame: ({ cause }: { readonly cause: string }) => {
      told.push(cause)
      return 'child' as const
    },
  }
  const restarts = { max: 0, withinMs: 60_000 }
  const planted = plant(t, supervisor('root', [blamed], { restarts }))
  await planted.tree.start()
  await planted.tree.kill('puppet')
  await planted.until(startOf('puppet', 2))
  assert.deepEqual(told, ['ordered'])
  assert.deepEqual(planted.gaveUp, [])
})

test('giving up: the supervisor above restarts the whole subtree, and charges it', async (t) => {
  // Three lives are one more than the inner window allows; the second inner life of the subtree
  // begins with an empty window, in which the fourth life of the child is well.
  const shortLives = { lives: 3, afterMs: 0, way: 'exit 3' } as const
  const inner = supervisor('inner', [puppet('good'), puppet('bad', { input: { shortLives } })], {
    restarts: { max: 2, withinMs: 60_000 },
  })
  const planted = plant(t, supervisor('root', [inner]))
  await planted.tree.start()
  await planted.until(startOf('bad', 4))
  assert.deepEqual(planted.story('gaveUp', 'restarting').slice(-2), [
    'gaveUp bad',
    'restarting inner',
  ])
  const [row] = planted.tree.status().children
  assert.equal(row?.restarts, 1)
  assert.deepEqual(
    row.children.map(({ id, state }) => [id, state]),
    [
      ['good', 'running'],
      ['bad', 'running'],
    ],
  )
  assert.deepEqual(planted.story('started').filter((line) => line === 'started good').length, 2)
})

test('giving up: at the root it is told once, and what still runs can be drained', async (t) => {
  const shortLives = { lives: 99, afterMs: 0, way: 'throw' } as const
  const restarts = { max: 1, withinMs: 60_000 }
  const inner = supervisor('inner', [puppet('bad', { input: { shortLives } })], { restarts })
  const planted = plant(t, supervisor('root', [puppet('good'), inner], { restarts }))
  await planted.tree.start().catch(() => undefined)
  await planted.until((event) => event.kind === 'gaveUp' && event.supervisor === 'root')
  assert.equal(planted.gaveUp.length, 1)
  assert.match(
    explain(planted.gaveUp[0]),
    /supervisor=root, child=inner.*supervisor=inner, child=bad.*thrown later/,
  )
  assert.deepEqual(
    planted.tree.status().children.map(({ state }) => state),
    ['running', 'abandoned'],
  )

  await planted.tree.stop()
  assert.deepEqual(planted.story('drained'), ['drained good'])
})

test('status: nested rows say what each is at', async (t) => {
  const planted = plant(t, supervisor('root', [supervisor('s', [puppet()])]))
  assert.equal(planted.tree.status().state, 'due')
  await planted.tree.start()
  const root = planted.tree.status()
  const [row] = root.children[0]?.children ?? []
  assert.equal(root.state, 'running')
  assert.equal(row?.id, 'puppet')
  assert.equal(row.state, 'running')
  assert.equal(row.work, 'waiting to be told')
  assert.equal(row.busy, null)
  assert.equal(row.lastCause, null)
  assert.ok(row.heartbeatAgeMs !== null)
})
