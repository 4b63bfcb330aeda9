import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor } from 'xstate'
import { Failure, type FailureKind } from '../../../src/failure.ts'
import { exitCodes, type RunEvent, runMachine } from '../../../supervisors/run/machine.ts'

function lifeAfter(...events: RunEvent[]) {
  const life = createActor(runMachine).start()
  for (const event of events) life.send(event)
  const { value, context, status } = life.getSnapshot()
  return { value, code: context.code, failure: context.failure, ended: status === 'done' }
}

const checked: RunEvent = { type: 'checked' }
const begun: RunEvent = { type: 'begun' }
const replayed: RunEvent = { type: 'replayed' }
const drained: RunEvent = { type: 'drained' }
const finished = (incomplete: boolean): RunEvent => ({ type: 'finished', incomplete })
const stop = (code: number): RunEvent => ({ type: 'stop', code })
const gaveUp = (kind: FailureKind): RunEvent => ({
  type: 'gaveUp',
  failure: new Failure(kind, 'it cannot go on'),
})

test('run: done with exit 0 where all is committed, 1 where some is not', () => {
  const whole = lifeAfter(checked, replayed, finished(false), drained)
  assert.deepEqual([whole.value, whole.code, whole.ended], ['done', exitCodes.done, true])
  const part = lifeAfter(checked, replayed, finished(true), drained)
  assert.deepEqual([part.value, part.code], ['done', exitCodes.incomplete])
})

test('run: told to stop, wherever it is, it drains and ends with the code it was told', () => {
  const places: RunEvent[][] = [[], [checked], [checked, replayed]]
  places.push([checked, replayed, { type: 'pause' }])
  for (const before of places) {
    assert.equal(lifeAfter(...before, stop(143)).value, 'draining')
    const { value, code, ended } = lifeAfter(...before, stop(143), drained)
    assert.deepEqual([value, code, ended], ['stopped', 143, true])
  }
})

test('run: what began the drain decides; only giving up outweighs it', () => {
  const finishing = lifeAfter(checked, replayed, finished(false), stop(143), drained)
  assert.deepEqual([finishing.value, finishing.code], ['done', exitCodes.done])
  const stopping = lifeAfter(checked, replayed, stop(5), stop(143), drained)
  assert.equal(stopping.code, 5)
  const late = lifeAfter(checked, replayed, finished(false), gaveUp('unavailable'), drained)
  assert.deepEqual([late.value, late.code], ['gaveUp', exitCodes.gaveUp])
  assert.equal(late.failure?.message, 'it cannot go on')
})

test('run: given up, the kind of its failure says what a person may do', () => {
  const code = (kind: FailureKind) => lifeAfter(checked, gaveUp(kind), drained).code
  assert.equal(code('unavailable'), exitCodes.gaveUp)
  assert.equal(code('invalid'), exitCodes.refused)
  assert.equal(code('corrupt'), exitCodes.refused)
  assert.equal(code('superseded'), exitCodes.held)
})

test('run: given up when work was under way, it is code 4 whatever the reason', () => {
  const places: RunEvent[][] = [
    [checked, begun],
    [checked, begun, replayed],
  ]
  for (const before of places) {
    const code = (kind: FailureKind): number => lifeAfter(...before, gaveUp(kind), drained).code
    assert.equal(code('unavailable'), exitCodes.gaveUp)
    assert.equal(code('invalid'), exitCodes.gaveUp)
    assert.equal(code('corrupt'), exitCodes.gaveUp)
    assert.equal(code('superseded'), exitCodes.held)
  }
})

test('run: what ends a drain in giving up counts as the work that was under way', () => {
  const after = (...before: RunEvent[]) => lifeAfter(...before, gaveUp('invalid'), drained).code
  assert.equal(after(checked, stop(143)), exitCodes.refused)
  assert.equal(after(checked, begun, stop(143)), exitCodes.gaveUp)
  assert.equal(after(checked, stop(143), begun), exitCodes.gaveUp)
  assert.equal(after(checked, begun, replayed, finished(true)), exitCodes.gaveUp)
  assert.equal(after(checked, begun, gaveUp('unavailable')), exitCodes.gaveUp)
})

test('run: a stop whose drain left something unkept is giving up, not a clean end', () => {
  const undrained: RunEvent = {
    type: 'undrained',
    failure: new Failure('unavailable', 'not all is committed'),
  }
  for (const code of [5, 143]) {
    const { value, ...ended } = lifeAfter(checked, begun, replayed, stop(code), undrained, drained)
    assert.deepEqual([value, ended.code], ['gaveUp', exitCodes.gaveUp])
    assert.equal(ended.failure, undrained.failure)
  }
  // Before a stop it is a restart by order; and of what has finished nothing was left.
  assert.equal(lifeAfter(checked, replayed, undrained, stop(143), drained).code, 143)
  assert.equal(lifeAfter(checked, replayed, finished(true), undrained, drained).code, 1)
  const why = lifeAfter(checked, begun, gaveUp('unavailable'), undrained, drained).failure
  assert.equal(why?.message, 'it cannot go on')
})

test('run: nothing to work on is refused wherever it is found, unless it was told to stop', () => {
  const refused: RunEvent = { type: 'refused', failure: new Failure('invalid', 'no row') }
  const places: RunEvent[][] = [[checked], [checked, begun], [checked, begun, replayed]]
  for (const before of places) {
    const { value, code } = lifeAfter(...before, refused, drained)
    assert.deepEqual([value, code], ['gaveUp', exitCodes.refused])
  }
  assert.equal(lifeAfter(checked, replayed, stop(143), refused, drained).code, 143)
})

test('run: a pause holds until it is lifted, and a run that is paused may finish', () => {
  const paused = lifeAfter(checked, replayed, { type: 'pause' })
  assert.deepEqual(paused.value, { running: 'paused' })
  const again = lifeAfter(checked, replayed, { type: 'pause' }, { type: 'continue' })
  assert.deepEqual(again.value, { running: 'active' })
  const done = lifeAfter(checked, replayed, { type: 'pause' }, finished(false), drained)
  assert.equal(done.value, 'done')
})

test('run: nothing is finished before it was replayed', () => {
  assert.equal(lifeAfter(checked, finished(false)).value, 'replaying')
  assert.equal(lifeAfter(finished(false), drained).value, 'preflight')
})
