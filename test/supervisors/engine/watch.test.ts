import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pulse } from '../../../protocol/pulse.ts'
import { Watch } from '../../../supervisors/engine/watch.ts'

function watched() {
  const pulse = new Pulse()
  const watch = new Watch({ heartbeatMs: 4_000, lookMs: 1_000 })
  const look = (sinceMs = 1_000) => watch.look(pulse.read(), sinceMs)
  look()
  /** How many looks, a second apart, until it is late. */
  const looksUntilLate = () => {
    for (let looks = 1; looks < 1_000; looks++) if (look() !== undefined) return looks
    return Number.POSITIVE_INFINITY
  }
  return { pulse, watch, look, looksUntilLate }
}

test('watch: a thread without a sign of life is late once its heartbeat has passed', () => {
  const { look, looksUntilLate } = watched()
  assert.equal(looksUntilLate(), 5)
  assert.match(look() ?? '', /no sign of life.*heartbeatMs=4000/)
})

test('watch: a thread that beats is never late', () => {
  const { pulse, look } = watched()
  for (let second = 0; second < 1_000; second++) {
    pulse.beat('')
    assert.equal(look(), undefined)
  }
})

test('watch: an announced work is left alone until its deadline, then named', () => {
  const { pulse, look, looksUntilLate } = watched()
  pulse.busy('batch b000017', 60_000)
  assert.equal(look(), undefined)
  assert.equal(looksUntilLate(), 61)
  assert.match(look() ?? '', /busy past its deadline. work=batch b000017, deadlineMs=60000/)
})

test('watch: beats do not move the deadline of an announced work; a new announcement does', () => {
  const { pulse, look } = watched()
  pulse.busy('one', 3_000)
  look()
  for (let second = 0; second < 3; second++) {
    pulse.beat('')
    assert.equal(look(), undefined)
  }
  pulse.busy('two', 3_000)
  for (let second = 0; second < 4; second++) assert.equal(look(), undefined)
  pulse.beat('')
  assert.match(look() ?? '', /work=two/)
})

test('watch: the end of a work is a sign of life', () => {
  const { pulse, look, looksUntilLate } = watched()
  pulse.busy('long', 60_000)
  for (let second = 0; second < 50; second++) look()
  pulse.idle()
  assert.equal(look(), undefined)
  assert.equal(looksUntilLate(), 5)
})

test('watch: a machine that slept for an hour finds nobody late at once', () => {
  const { pulse, look } = watched()
  assert.equal(look(3_600_000), undefined)
  pulse.busy('work', 5_000)
  look()
  assert.equal(look(3_600_000), undefined)
})

test('watch: what is left of an announced work counts from its announcement', () => {
  const { pulse, watch, look } = watched()
  assert.equal(watch.leftMs(pulse.read()), 0)
  pulse.busy('work', 5_000)
  look()
  look()
  assert.equal(watch.leftMs(pulse.read()), 4_000)
})
