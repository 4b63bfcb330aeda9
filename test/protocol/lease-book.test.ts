import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstIdOf, LeaseBook, type Leased } from '../../protocol/lease-book.ts'
import { SimulatedClock } from '../../src/clock.ts'

function open(clock = new SimulatedClock()) {
  const book = new LeaseBook<string>(1, clock)
  const take = async (holder: string) => (await book.lease(holder, 0)) ?? assert.fail('none waits')
  return { book, clock, take }
}

const items = (leases: (Leased<string> | undefined)[]) => leases.map((lease) => lease?.item)

test('lease book: the oldest goes first, each to one holder', async () => {
  const { book, take } = open()
  for (const item of ['a', 'b', 'c']) book.add(item)
  const leases = [await take('x'), await take('y'), await take('x')]
  assert.deepEqual(items(leases), ['a', 'b', 'c'])
  assert.equal(new Set(leases.map(({ id }) => id)).size, 3)
  assert.deepEqual([book.waiting, book.leased], [0, 3])
})

test('lease book: who waits is served in turn as things come; too long, with nothing', async () => {
  const { book, clock } = open()
  const first = book.lease('x', 1000)
  const second = book.lease('y', 1000)
  book.add('a')
  assert.deepEqual((await first)?.item, 'a')
  clock.advance(1000)
  assert.equal(await second, undefined)
  book.add('b')
  assert.equal(book.waiting, 1)
})

test('lease book: who will not wait is answered at once, and gets nothing later', async () => {
  const { book } = open()
  assert.equal(await book.lease('x', 0), undefined)
  book.add('a')
  assert.deepEqual([book.waiting, book.leased], [1, 0])
})

test('lease book: what is done once is done; a second telling finds nothing', async () => {
  const { book, take } = open()
  book.add('a')
  const { id } = await take('x')
  assert.equal(book.settle(id), 'a')
  assert.equal(book.settle(id), undefined)
  book.giveBack(id)
  assert.deepEqual([book.waiting, book.leased], [0, 0])
})

test('lease book: what is given back goes to the end of the queue', async () => {
  const { book, take } = open()
  for (const item of ['a', 'b']) book.add(item)
  book.giveBack((await take('x')).id)
  assert.deepEqual(items([await take('x'), await take('x')]), ['b', 'a'])
})

test('lease book: what a holder had when it ended goes first, in its order', async () => {
  const { book, take } = open()
  for (const item of ['a', 'b', 'c', 'd']) book.add(item)
  const dead = await take('dead')
  await take('living')
  await take('dead')
  book.holderEnded('dead')
  assert.equal(book.settle(dead.id), undefined)
  assert.deepEqual([book.waiting, book.leased], [3, 1])
  const next = [await take('living'), await take('living'), await take('living')]
  assert.deepEqual(items(next), ['a', 'c', 'd'])
})

test('lease book: at once to one who waits; the questions of the dead are answered', async () => {
  const { book, take } = open()
  book.add('a')
  await take('dead')
  const asked = book.lease('dead', 1000)
  const waits = book.lease('living', 1000)
  book.holderEnded('dead')
  assert.equal(await asked, undefined)
  assert.equal((await waits)?.item, 'a')
})

test('lease book: woken, a holder is answered with nothing, others wait on', async () => {
  const { book } = open()
  const woken = book.lease('x', 1000)
  const waits = book.lease('y', 1000)
  book.wake('x')
  assert.equal(await woken, undefined)
  book.add('a')
  assert.equal((await waits)?.item, 'a')
})

test('lease book: five thousand through one queue, none lost and none twice', async () => {
  const { book, take } = open()
  const all = Array.from({ length: 5000 }, (_, i) => String(i))
  for (const item of all) book.add(item)
  const seen: string[] = []
  for (let i = 0; i < 5000; i++) {
    const { id, item } = await take(`h${i % 7}`)
    if (i % 1000 === 999) {
      book.holderEnded(`h${i % 7}`)
      book.add('later')
      seen.push((await take('x')).item)
    } else {
      book.settle(id)
      seen.push(item)
    }
  }
  assert.deepEqual(seen, all)
})

test('lease book: ids of two generations never meet', async () => {
  const before = new LeaseBook<string>(firstIdOf(1))
  const after = new LeaseBook<string>(firstIdOf(2))
  before.add('old')
  after.add('new')
  const old = await before.lease('x', 0)
  await after.lease('y', 0)
  assert.equal(after.settle(old?.id ?? 0), undefined)
  assert.equal(after.leased, 1)
})
