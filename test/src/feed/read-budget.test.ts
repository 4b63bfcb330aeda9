import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Prefetch } from '../../../src/feed/prefetch.ts'
import { ReadBudget } from '../../../src/feed/read-budget.ts'

const never = new Promise<void>(() => undefined)

/** Those who read ahead on one budget of 100 bytes; the most that was ever held is told. */
function rig() {
  const budget = new ReadBudget(100)
  let most = 0
  const reader = (size: number, bytesMax: number) => {
    const loads: string[] = []
    const prefetch = new Prefetch<number>({
      ...{ budget, bytesMax },
      bytesOf: (plan) => (plan < 8 ? size : undefined),
      load: async (plan) => {
        loads.push(`${plan}`)
        most = Math.max(most, budget.held)
        await turn()
        return plan
      },
    })
    return { loads, take: async (plan: number) => (await prefetch.take(plan, never)) === plan }
  }
  return { budget, most: () => most, reader }
}

test('read budget: what is read for a look and for training is never more than all', async () => {
  const { budget, most, reader } = rig()
  const [training, heldOut] = [reader(30, 90), reader(60, 60)]
  for (let plan = 0; plan < 3; plan++) assert.ok(await training.take(plan))
  assert.equal(budget.held, 90)
  // A look, in the middle of the training's reading: the training's last batches make way.
  for (let batch = 0; batch < 8; batch++) assert.ok(await heldOut.take(batch))
  assert.ok(!(await heldOut.take(8)))
  for (let plan = 3; plan < 8; plan++) assert.ok(await training.take(plan))
  assert.ok(!(await training.take(8)))
  assert.equal(most(), 90)
  assert.equal(budget.held, 0)
  assert.deepEqual(new Set(heldOut.loads).size, heldOut.loads.length)
})

test('read budget: a look that nobody ends keeps no room from the training', async () => {
  const { budget, most, reader } = rig()
  const [training, heldOut] = [reader(90, 90), reader(50, 100)]
  assert.ok(await heldOut.take(0))
  await turn()
  assert.equal(budget.held, 100)
  for (let plan = 0; plan < 8; plan++) assert.ok(await training.take(plan))
  assert.ok(most() <= 100)
})

test('read budget: what is larger than all is held alone', async () => {
  const { most, reader } = rig()
  const [small, large] = [reader(20, 100), reader(300, 300)]
  assert.ok(await small.take(0))
  const taken = await Promise.all([large.take(0), small.take(1), large.take(1), small.take(2)])
  assert.deepEqual(taken, [true, true, true, true])
  assert.equal(most(), 300)
})
