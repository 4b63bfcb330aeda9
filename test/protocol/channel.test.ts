import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { connect, PeerEnded, serve, transfer } from '../../protocol/channel.ts'
import { type Handlers, request } from '../../protocol/contract.ts'
import { SimulatedClock } from '../../src/clock.ts'
import { Failure, isFailure } from '../../src/failure.ts'

const contract = {
  add: request<{ readonly a: number; readonly b: number }, number>(),
  nothing: request<void, void>(),
  fail: request<void, void>(),
  size: request<Uint8Array, { readonly length: number; readonly bufferBytes: number }>(),
  part: request<void, Uint8Array>(),
  never: request<void, void>({ withinMs: 5_000 }),
  unclonable: request<() => void, void>(),
}
const big = new Uint8Array(1 << 20).fill(7)

const handlers: Handlers<typeof contract> = {
  add: ({ a, b }) => a + b,
  nothing: () => undefined,
  fail: () => {
    throw new Failure('corrupt', 'sample differs. want=1, found=2', {
      remedy: 'Delete it.',
      cause: new Failure('unavailable', 'inner', { cause: new TypeError('innermost') }),
    })
  },
  size: (view) => ({ length: view.length, bufferBytes: view.buffer.byteLength }),
  part: () => big.subarray(0, 100),
  never: () => new Promise(() => undefined),
  unclonable: () => undefined,
}

function channel(t: TestContext, clock?: SimulatedClock) {
  const { port1, port2 } = new MessageChannel()
  serve(port2, contract, handlers)
  t.after(() => port1.close())
  const options = clock === undefined ? {} : { clock }
  return { client: connect(port1, contract, { peer: 'ledger', ...options }), port1, port2 }
}

test('channel: an ask comes back as its answer', async (t) => {
  const { client } = channel(t)
  assert.equal(await client.add({ a: 20, b: 22 }), 42)
  assert.equal(await client.nothing(), undefined)
})

test('channel: contracts that must not compile', (t) => {
  const { client } = channel(t)
  const refused = [
    // @ts-expect-error a wrong argument
    () => client.add('20'),
    // @ts-expect-error a missing argument
    () => client.add(),
    // @ts-expect-error an argument too many
    () => client.nothing(1),
    // @ts-expect-error no such request
    () => client.subtract({ a: 1, b: 2 }),
    // @ts-expect-error a missing handler
    (): Handlers<typeof contract> => ({ ...handlers, add: undefined }),
    // @ts-expect-error a wrong answer
    (): Handlers<typeof contract> => ({ ...handlers, add: () => 'forty-two' }),
  ]
  assert.equal(refused.length, 6)
})

test('channel: a Failure keeps its kind, message, remedy and causes', async (t) => {
  const { client } = channel(t)
  await assert.rejects(client.fail(), (error) => {
    assert.ok(isFailure(error, 'corrupt'))
    assert.equal(error.message, 'sample differs. want=1, found=2')
    assert.equal(error.remedy, 'Delete it.')
    assert.ok(isFailure(error.cause, 'unavailable'))
    assert.ok(error.cause.cause instanceof Error)
    assert.equal(error.cause.cause.name, 'TypeError')
    assert.equal(error.cause.cause.message, 'innermost')
    return true
  })
})

test('channel: when the port closes, what is in flight rejects with its name', async (t) => {
  const { client, port2 } = channel(t)
  const calls = [client.never(), client.never()]
  port2.close()
  for (const call of calls) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof PeerEnded && isFailure(error, 'unavailable'))
      assert.match(error.message, /actor=ledger, request=never/)
      return true
    })
  }
  await assert.rejects(client.nothing(), /actor=ledger, request=nothing/)
})

test('channel: a call without an answer rejects at its deadline, with its name', async (t) => {
  const clock = new SimulatedClock()
  const { client } = channel(t, clock)
  const call = client.never()
  clock.advance(4_999)
  const settled = assert.rejects(call, (error) => {
    assert.ok(isFailure(error, 'unavailable') && !(error instanceof PeerEnded))
    assert.match(error.message, /actor=ledger, request=never, waited=5000 ms/)
    return true
  })
  clock.advance(1)
  await settled
})

test('channel: a small view of a big buffer arrives small, asked or answered', async (t) => {
  const { client } = channel(t)
  const found = await client.size(big.subarray(1_000, 1_100))
  assert.deepEqual(found, { length: 100, bufferBytes: 100 })
  const part = await client.part()
  assert.equal(part.length, 100)
  assert.ok(part.buffer.byteLength <= 4_096)
  assert.equal(big[1_050], 7)
})

test('channel: a given buffer moves, and one that is shown in part is copied', async (t) => {
  const { client } = channel(t)
  const whole = new Uint8Array(1 << 16)
  assert.equal((await client.size(transfer(whole, [whole.buffer]))).length, 1 << 16)
  assert.equal(whole.length, 0, 'it was given away')

  const shared = new Uint8Array(1 << 16).fill(9)
  const view = shared.subarray(0, 100)
  const found = await client.size(transfer(view, [shared.buffer]))
  assert.deepEqual(found, { length: 100, bufferBytes: 100 })
  assert.equal(shared[50], 9, 'the sender reads on')
})

test('channel: an ask that cannot be cloned is the asker’s own bug', async (t) => {
  const { client } = channel(t)
  await assert.rejects(
    client.unclonable(() => undefined),
    { name: 'DataCloneError' },
  )
  assert.equal(await client.add({ a: 1, b: 1 }), 2)
})
