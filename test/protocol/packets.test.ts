import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { packed, Unpacker } from '../../protocol/packets.ts'
import { seededRandom } from '../../src/clock.ts'

const noPort = (): never => {
  throw new Error('nobody sends a port here')
}

const message = {
  text: 'ä\u0000',
  nothing: undefined,
  big: 2n ** 70n,
  map: new Map<unknown, unknown>([[new Set([1]), new Date(7)]]),
  views: [
    new Int8Array([-1]),
    new Uint8ClampedArray([255]),
    new Int16Array([-2, 3]),
    new Uint16Array([65535]),
    new Int32Array([-4]),
    new Uint32Array([2 ** 32 - 1]),
    new Float32Array([0.5, Number.NaN]),
    new Float64Array([Math.PI]),
    new BigInt64Array([-5n]),
    new BigUint64Array([6n]),
    new DataView(new Uint8Array([7, 8]).buffer),
    new Float64Array(0),
  ],
}

test('packets: what is sent comes whole, however the stream is cut', () => {
  const random = seededRandom(1)
  const bytes = Buffer.concat([1, 2, 3].flatMap((nth) => packed({ nth, ...message }, noPort)))
  for (const most of [1, 7, 64, bytes.byteLength]) {
    const unpacker = new Unpacker(noPort)
    const found: unknown[] = []
    for (let from = 0; from < bytes.byteLength; ) {
      const to = from + 1 + Math.floor(random() * most)
      found.push(...unpacker.take(bytes.subarray(from, to)).map(({ value }) => value))
      from = to
    }
    assert.deepEqual(
      found,
      [1, 2, 3].map((nth) => ({ nth, ...message })),
    )
  }
})

test('packets: a view of a part carries that part, in a buffer that may be given away', () => {
  const part = new Float32Array(new Float32Array([1, 2, 3, 4]).buffer, 4, 2)
  const bytes = Buffer.concat(
    packed({ part, shared: new Int32Array(new SharedArrayBuffer(4)) }, noPort),
  )
  const [whole] = new Unpacker(noPort).take(bytes)
  assert.deepEqual(whole?.value, { part: new Float32Array([2, 3]), shared: new Int32Array(1) })
  const { part: found } = Object(whole.value)
  assert.equal(found.buffer.byteLength, 8)
  assert.ok(whole.given.includes(found.buffer))
})

test('packets: a port is called by its number, and another stands in its place', (t) => {
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  const bytes = Buffer.concat(packed({ port: port1 }, (port) => (port === port1 ? 42 : 0)))
  const asked: number[] = []
  const open = (number: number): MessagePort => {
    asked.push(number)
    return port2
  }
  const [whole] = new Unpacker(open).take(bytes)
  assert.deepEqual(asked, [42])
  assert.equal(Object(whole?.value).port, port2)
  assert.deepEqual(whole?.given, [port2])
})

test('packets: what cannot be cloned is refused', () => {
  assert.throws(() => packed({ call: () => undefined }, noPort), /could not be cloned/)
})
