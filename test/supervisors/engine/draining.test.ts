import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock, sleep } from '../../../src/clock.ts'
import { drainInOrder } from '../../../supervisors/engine/draining.ts'

test('draining: each begins when all that give it work are done, others beside it', async () => {
  const clock = new SimulatedClock()
  const story: string[] = []
  const one = (id: string, takesMs: number, drainsAfter: readonly string[]) => ({
    id,
    drainsAfter,
    drain: async () => {
      story.push(`${id} begins at ${clock.now()}`)
      await sleep(takesMs, clock)
      story.push(`${id} done at ${clock.now()}`)
    },
  })
  const all = drainInOrder([
    one('ledger', 10, ['uploader', 'extractor/0', 'extractor/1']),
    one('uploader', 10, ['extractor/0', 'extractor/1']),
    one('extractor/0', 30, ['reader']),
    one('extractor/1', 50, ['reader']),
    one('reader', 20, []),
  ])
  for (let ms = 0; ms <= 100; ms += 10) {
    await new Promise(setImmediate)
    clock.advance(10)
  }
  await all
  assert.deepEqual(story, [
    'reader begins at 0',
    'reader done at 20',
    'extractor/0 begins at 20',
    'extractor/1 begins at 20',
    'extractor/0 done at 50',
    'extractor/1 done at 70',
    'uploader begins at 70',
    'uploader done at 80',
    'ledger begins at 80',
    'ledger done at 90',
  ])
})
