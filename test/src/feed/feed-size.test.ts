import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { feedRig, rowOf } from '../../support/feed.ts'

const rows = (count: number) => Array.from({ length: count }, (_, n) => rowOf(n, 20))

test('feed: fewer stored samples than asked for are refused, with the numbers', async (t) => {
  const { open, add, samples } = await feedRig(t, rows(10), {
    stored: 4,
    train: { samplesMin: 10 },
  })
  const few = await open()
  await assert.rejects(
    () => few.feed.begin('t', null),
    (error) => isFailure(error, 'invalid') && /want=10, found=4.*not stored=6/.test(error.message),
  )
  await add(samples.slice(4))
  const enough = await open()
  assert.equal((await enough.feed.begin('t', null)).samples, 10)
})
