import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Bridge } from '../../protocol/bridge.ts'
import { deferred } from '../../protocol/deferred.ts'
import type { Failure } from '../../src/failure.ts'

/** Two ends of one stream, as two processes have them. */
function streams(): [Duplex, Duplex] {
  const end = (other: () => Duplex): Duplex =>
    new Duplex({
      read: () => undefined,
      write: (bytes, _encoding, done) => {
        other().push(Buffer.from(bytes))
        done()
      },
      final: (done) => {
        other().push(null)
        done()
      },
    })
  const one: Duplex = end(() => two)
  const two: Duplex = end(() => one)
  return [one, two]
}

function bridged(t: TestContext) {
  const [here, there] = streams()
  const near = new MessageChannel()
  const far = new MessageChannel()
  const bridges = [
    new Bridge(here, { side: 1, first: near.port2, onOverfull: assert.fail }),
    new Bridge(there, { side: -1, first: far.port2, onOverfull: assert.fail }),
  ] as const
  t.after(() => {
    here.destroy()
    there.destroy()
  })
  return { here, bridges, near: near.port1, far: far.port1 }
}

const next = async (port: MessagePort): Promise<unknown> => {
  const [message] = await once(port, 'message')
  return message
}

test('bridge: messages cross in order, both ways', async (t) => {
  const { near, far } = bridged(t)
  for (let i = 0; i < 100; i++) near.postMessage({ i })
  const found: unknown[] = []
  far.on('message', (message) => {
    found.push(message.i)
    if (message.i === 99) far.postMessage('all')
  })
  assert.equal(await next(near), 'all')
  assert.deepEqual(
    found,
    Array.from({ length: 100 }, (_, i) => i),
  )
})

test('bridge: a port in a message leads from end to end, also one sent back', async (t) => {
  const { near, far } = bridged(t)
  for (const [from, to] of [
    [near, far],
    [far, near],
  ]) {
    const { port1, port2 } = new MessageChannel()
    from?.postMessage({ port: port2 }, [port2])
    const { port } = Object(await next(to ?? near))
    port1.postMessage('down')
    assert.equal(await next(port), 'down')
    port.postMessage('up')
    assert.equal(await next(port1), 'up')
    const closed = once(port1, 'close')
    port.close()
    await closed
  }
})

test('bridge: all ports close with the stream', async (t) => {
  const { here, near, far } = bridged(t)
  const { port1, port2 } = new MessageChannel()
  near.postMessage({ port: port2 }, [port2])
  await next(far)
  const closed = Promise.all([once(near, 'close'), once(port1, 'close')])
  here.destroy()
  await closed
})

test('bridge: what a port was given before it closed still arrives', async (t) => {
  const { bridges, near, far } = bridged(t)
  const found: unknown[] = []
  near.on('message', (message) => found.push(message))
  const closed = once(near, 'close')
  for (let i = 0; i < 50; i++) far.postMessage(i)
  far.close()
  await bridges[1].closed()
  await closed
  assert.equal(found.length, 50)
})

test('bridge: what the other end does not read has a bound, the largest of it aside', async () => {
  const reads: (() => void)[] = []
  const stream = new Duplex({
    read: () => undefined,
    write: (_, _e, done) => void reads.push(done),
  })
  const { port1, port2 } = new MessageChannel()
  const overfull = deferred<Failure>()
  // Keeps the process until the port has closed.
  port1.on('message', assert.fail)
  const bridge = new Bridge(stream, {
    side: 1,
    first: port2,
    onOverfull: overfull.resolve,
    unreadBytesMax: 10_000,
  })
  const read = () => {
    for (const done of reads.splice(0)) done()
  }
  const post = async (bytes: number, times: number) => {
    const before = bridge.unreadBytes
    for (let i = 0; i < times; i++) port1.postMessage(new Uint8Array(bytes))
    while (bridge.unreadBytes < before + bytes * times) await turn()
  }
  await post(1 << 20, 1)
  await post(1_000, 9)
  while (bridge.unreadBytes > 0) {
    read()
    await turn()
  }
  await post(1_000, 11)
  assert.equal(stream.destroyed, false)
  const closed = once(port1, 'close')
  for (let i = 0; i < 10; i++) port1.postMessage(new Uint8Array(1_000))
  const { kind, message } = await overfull.promise
  assert.equal(kind, 'unavailable')
  assert.match(message, /reads too slowly .* want=10.0 kB at most, found=1\d\.\d kB/)
  await closed
  assert.ok(bridge.unreadBytes < 13_000)
})
