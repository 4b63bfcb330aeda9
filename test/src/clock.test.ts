import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep, systemClock, wallClock } from '../../src/clock.ts'

const hourMs = 3_600_000

for (const [way, jumpMs] of [
  ['forward', hourMs],
  ['back', -hourMs],
] as const) {
  test(`clock: it is set ${way}: what is measured by it goes on as before`, (t) => {
    const real = Date.now()
    const before = systemClock.now()
    t.mock.method(Date, 'now', () => real + jumpMs)
    assert.ok(Math.abs(systemClock.now() - before) < hourMs / 2)
    assert.equal(wallClock.now(), real + jumpMs)
  })
}

test('clock: a timer for longer than Node can wait does not fire at once', async () => {
  let fired = false
  const timer = systemClock.setTimeout(() => {
    fired = true
  }, 2 ** 40)
  await sleep(20)
  systemClock.clearTimeout(timer)
  assert.equal(fired, false)
})
