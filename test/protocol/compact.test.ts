import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compact, wholly } from '../../protocol/compact.ts'

const none = new Set()

test('compact: what holds no view, or whole views only, is the very same value', () => {
  const whole = new Float32Array(4)
  for (const value of [1, 'text', null, undefined, 10n, { a: [1, { b: whole }] }, [whole], whole]) {
    assert.equal(compact(value, none), value)
  }
})

test('compact: a view of a part becomes a copy of that part, wherever it lies', () => {
  const bytes = Uint8Array.from({ length: 64 }, (_, i) => i)
  const part = bytes.subarray(8, 16)
  const message = { list: [{ part }], map: new Map([['key', part]]), set: new Set([part]) }
  const small = structuredClone(compact(message, none))
  const found = [
    Reflect.get(Object(small), 'list')[0].part,
    Reflect.get(Object(small), 'map').get('key'),
    ...Reflect.get(Object(small), 'set'),
  ]
  assert.equal(found.length, 3)
  for (const view of found) {
    assert.deepEqual(view, Uint8Array.of(8, 9, 10, 11, 12, 13, 14, 15))
    assert.equal(view.buffer.byteLength, 8)
  }
  assert.equal(message.list[0]?.part, part, 'the message itself is not changed')
})

test('compact: each kind of view keeps its kind and its values', () => {
  const { buffer } = Float64Array.of(1, 2, 3, 4)
  const views = [
    new Float64Array(buffer, 8, 2),
    new Float32Array(buffer, 8, 2),
    new Int32Array(buffer, 8, 2),
    new BigInt64Array(buffer, 8, 2),
    new Uint16Array(buffer, 8, 2),
    new DataView(buffer, 8, 4),
  ]
  for (const view of views) {
    const small = compact(view, none)
    assert.ok(ArrayBuffer.isView(small))
    assert.equal(small.constructor, view.constructor)
    assert.equal(small.buffer.byteLength, view.byteLength)
    assert.deepEqual(small, view)
  }
})

test('compact: a pooled Buffer does not take its pool along', () => {
  const small = compact(Buffer.from('five!'), none)
  assert.ok(small instanceof Uint8Array)
  assert.equal(small.buffer.byteLength, 5)
  assert.equal(new TextDecoder().decode(small), 'five!')
})

test('compact: shared memory stays shared', () => {
  const view = new Int32Array(new SharedArrayBuffer(64), 4, 1)
  assert.equal(compact(view, none), view)
})

test('wholly: a buffer is given away where the views on it show all of it', () => {
  const buffer = new ArrayBuffer(16)
  const halves = [new Uint8Array(buffer, 0, 8), new Float32Array(buffer, 8, 2)]
  assert.deepEqual(wholly({ halves }, [buffer]), [buffer])
  assert.deepEqual(wholly(new Map([['whole', { buffer }]]), [buffer]), [buffer])
  assert.deepEqual(wholly({ half: halves[0] }, [buffer]), [])
  assert.deepEqual(wholly({}, [buffer]), [])
})
