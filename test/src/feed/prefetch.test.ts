import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { deferred } from '../../../protocol/deferred.ts'
import { Prefetch } from '../../../src/feed/prefetch.ts'
import { ReadBudget } from '../../../src/feed/read-budget.ts'

const never = new Promise<void>(() => undefined)

/** Batches of 10 bytes, twenty of them; each comes when it is told to. */
function rig(bytesMax = 40, inAll = bytesMax) {
  const begun: number[] = []
  const aborted: number[] = []
  const waiting = new Map<number, (value: string) => void>()
  const prefetch = new Prefetch<string>({
    bytesMax,
    budget: new ReadBudget(inAll),
    bytesOf: (plan) => (plan < 20 ? 10 : undefined),
    load: (plan, signal) => {
      begun.push(plan)
      const { promise, resolve } = deferred<string>()
      signal.addEventListener('abort', () => {
        aborted.push(plan)
        resolve('nobody asks for it')
      })
      waiting.set(plan, resolve)
      return promise
    },
  })
  const come = (plan: number) => waiting.get(plan)?.(`batch ${plan}, load ${begun.length}`)
  return { aborted, begun, come, prefetch }
}

test('prefetch: it reads ahead in order, as far as the bound allows', async () => {
  const { begun, come, prefetch } = rig()
  const first = prefetch.take(0, never)
  assert.deepEqual(begun, [0, 1, 2, 3])
  // The second is there first, and waits for its turn.
  come(1)
  await turn()
  assert.deepEqual(begun, [0, 1, 2, 3])
  come(0)
  assert.equal(await first, 'batch 0, load 4')
  assert.deepEqual(begun, [0, 1, 2, 3, 4])
  assert.equal(await prefetch.take(1, never), 'batch 1, load 4')
  assert.deepEqual([prefetch.batches, prefetch.bytes], [4, 40])
})

test('prefetch: one batch comes however small the bound is', async () => {
  const { begun, come, prefetch } = rig(1)
  const first = prefetch.take(7, never)
  come(7)
  assert.equal(await first, 'batch 7, load 1')
  assert.deepEqual(begun, [7])
})

test('prefetch: who is answered late finds the load going on', async () => {
  const { begun, come, prefetch } = rig()
  assert.equal(await prefetch.take(0, Promise.resolve()), undefined)
  come(0)
  assert.match((await prefetch.take(0, never)) ?? '', /^batch 0/)
  assert.deepEqual(
    begun.filter((plan) => plan === 0),
    [0],
  )
})

test('prefetch: two who ask for one plan get two loads; what is gone is loaded anew', async () => {
  const { begun, come, prefetch } = rig()
  const [one, two] = [prefetch.take(0, never), prefetch.take(0, never)]
  come(0)
  const first = await Promise.race([one, two])
  await turn()
  come(0)
  const both = await Promise.all([one, two])
  assert.ok(both.includes(first) && both[0] !== both[1])
  assert.equal(begun.filter((plan) => plan === 0).length, 2)
})

test('prefetch: several who ask in turn are all read ahead for', async () => {
  const { begun, come, prefetch } = rig(40, 50)
  const taken = [1, 0, 3, 2].map((plan) => prefetch.take(plan, never))
  for (const plan of [0, 1, 2, 3]) come(plan)
  await Promise.all(taken)
  assert.equal(new Set(begun).size, begun.length)
})

test('prefetch: a jump ends what is far away; the end of the plans ends the reading', async () => {
  const far = new Prefetch<number>({
    bytesMax: 100,
    budget: new ReadBudget(100),
    bytesOf: (plan) => (plan < 1000 ? 50 : undefined),
    load: async (plan) => plan,
  })
  await far.take(900, never)
  assert.equal(far.batches, 2)
  assert.equal(await far.take(5, never), 5)
  assert.equal(far.batches, 2)
  assert.equal(await far.take(999, never), 999)
  assert.equal(far.batches, 0)
  assert.equal(await far.take(1000, never), undefined)
  const { aborted, prefetch } = rig()
  void prefetch.take(0, never)
  prefetch.clear()
  assert.deepEqual(aborted, [0, 1, 2, 3])
})

test('prefetch: a load that fails is told to who asks, and begun anew for the next', async () => {
  let tries = 0
  const prefetch = new Prefetch<string>({
    bytesMax: 0,
    budget: new ReadBudget(0),
    bytesOf: () => 1,
    load: async () => {
      if (tries++ === 0) throw new Error('no luck')
      return 'there'
    },
  })
  await assert.rejects(prefetch.take(0, never), /no luck/)
  assert.equal(await prefetch.take(0, never), 'there')
})
