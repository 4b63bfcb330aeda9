import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Budget } from '../../../src/export/budget.ts'

/** Works that hold bytes: together never more than there are, in the order of asking. */

function works(budget: Budget) {
  const log: string[] = []
  let held = 0
  let most = 0
  const ends = new Map<string, () => void>()
  const begin = (name: string, bytes: number): Promise<void> =>
    budget.with(bytes, async () => {
      log.push(name)
      held += bytes
      most = Math.max(most, held)
      await new Promise<void>((end) => ends.set(name, end))
      held -= bytes
    })
  return { log, begin, end: (name: string) => ends.get(name)?.(), most: () => most }
}

test('budget: what has no room waits, and what was asked for later with it', async () => {
  const { log, begin, end, most } = works(new Budget(10))
  const all = [begin('a', 6), begin('b', 5), begin('c', 1)]
  await turn()
  assert.deepEqual(log, ['a'], 'c would fit, and comes after b all the same')
  end('a')
  await turn()
  assert.deepEqual(log, ['a', 'b', 'c'])
  end('b')
  end('c')
  await Promise.all(all)
  assert.equal(most(), 6)
})

test('budget: what is more than all there is goes alone', async () => {
  const { log, begin, end } = works(new Budget(10))
  const all = [begin('small', 1), begin('huge', 99), begin('next', 1)]
  await turn()
  assert.deepEqual(log, ['small'])
  end('small')
  await turn()
  assert.deepEqual(log, ['small', 'huge'])
  end('huge')
  await turn()
  end('next')
  await Promise.all(all)
})

test('budget: a work that fails gives back what it held', async () => {
  const budget = new Budget(1)
  await assert.rejects(
    budget.with(1, () => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(await budget.with(1, async () => 'yes'), 'yes')
})
