import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { actorsOf, checkSpec } from '../../../supervisors/engine/spec.ts'
import { asker, puppet, supervisor } from '../../support/trees.ts'

const refuses = (children: Parameters<typeof supervisor>[1], message: RegExp) =>
  assert.throws(
    () => checkSpec(supervisor('root', children)),
    (error) => isFailure(error, 'invalid') && message.test(error.message),
  )

test('spec: actors are listed in the order they start, at any depth', () => {
  const spec = supervisor('root', [puppet('a'), supervisor('s', [puppet('b')]), puppet('c')])
  checkSpec(spec)
  assert.deepEqual(
    actorsOf(spec).map(({ id }) => id),
    ['a', 'b', 'c'],
  )
})

test('spec: an id names one child in the whole tree', () => {
  refuses([puppet('a'), supervisor('s', [puppet('a')])], /two children have one id. id=a/)
  refuses([puppet('root')], /two children have one id. id=root/)
})

test('spec: an actor asks and drains after other actors only', () => {
  refuses([asker('a', { asks: ['nobody'] })], /child=a, named=nobody/)
  refuses([asker('a', { asks: ['a'] })], /child=a, named=a/)
  refuses([asker('a', { asks: ['s'] }), supervisor('s', [])], /child=a, named=s/)
  refuses([puppet('a', { drainsAfter: ['nobody'] })], /child=a, named=nobody/)
})

test('spec: actors that drain after each other are refused, with the circle', () => {
  const a = puppet('a', { drainsAfter: ['b'] })
  const b = puppet('b', { drainsAfter: ['c'] })
  const c = puppet('c', { drainsAfter: ['a'] })
  refuses([a, b, c], /circle=a after b after c after a/)
})
