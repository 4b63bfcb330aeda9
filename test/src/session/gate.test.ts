import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { SimulatedClock } from '../../../src/clock.ts'
import { hiddenStatesGraph } from '../../../src/models/hidden-states.ts'
import { openTarget } from '../../../src/models/target.ts'
import { Gate } from '../../../src/session/gate.ts'
import { prepareModel } from '../../../src/session/prepare.ts'
import { golden } from '../../support/golden.ts'
import { scratch } from '../../support/target-run.ts'

const waiting = new URL('../../support/session/waiting-worker.js', import.meta.url)
const endThreads = new URL('../../support/session/end-threads.js', import.meta.url)

/** A thread at a gate; `order` settles when it has done as told. */
function startWaiting(t: TestContext) {
  const word = Gate.memory()
  const worker = new Worker(waiting, { workerData: word })
  t.after(() => worker.terminate())
  const tell = (order: 'enter' | 'leave') => worker.postMessage(order)
  const order = async (what: 'enter' | 'leave') => {
    tell(what)
    assert.deepEqual(await once(worker, 'message'), [what])
  }
  return { gate: new Gate(word), word, worker, tell, order }
}

/** Lets the thread's event loop come round a few times. */
const breathe = () => new Promise((resolve) => setTimeout(resolve, 50))

test('gate: closes at once while the thread is outside', async (t) => {
  const { gate, order } = startWaiting(t)
  await order('enter')
  await order('leave')
  assert.equal(await gate.close(0), true)
})

test('gate: closing waits until the thread has left', async (t) => {
  const { gate, order, tell } = startWaiting(t)
  await order('enter')
  const closing = gate.close(60_000)
  tell('leave')
  assert.equal(await closing, true)
})

test('gate: a thread inside at the deadline is not to be ended; ask again', async (t) => {
  const { gate, order } = startWaiting(t)
  await order('enter')
  const clock = new SimulatedClock()
  const closing = gate.close(1_000, clock)
  for (let ms = 0; ms < 1_000; ms += 5) {
    clock.advance(5)
    await Promise.resolve().then(() => {})
  }
  assert.equal(await closing, false)
  await order('leave')
  assert.equal(await gate.close(0), true)
})

test('gate: a thread that finds it closed never enters and can be ended', async (t) => {
  const { gate, word, worker, order, tell } = startWaiting(t)
  await order('enter')
  await order('leave')
  assert.equal(await gate.close(0), true)
  let answered = false
  worker.on('message', () => {
    answered = true
  })
  tell('enter')
  // Woken for nothing, it must go back to sleep.
  for (let i = 0; i < 3; i++) {
    await breathe()
    Atomics.notify(word, 0)
  }
  await breathe()
  assert.equal(answered, false)
  assert.equal(await gate.close(0), true)
  assert.equal(await worker.terminate(), 1)
})

test('gate: calls in one thread take turns', async () => {
  const gate = new Gate(Gate.memory())
  const order: string[] = []
  const call = (name: string) =>
    gate.through(async () => {
      order.push(`${name} in`)
      await breathe()
      order.push(`${name} out`)
      if (name === 'b') throw new Error('broken')
    })
  const calls = await Promise.allSettled([call('a'), call('b'), call('c')])
  assert.deepEqual(
    calls.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(order, ['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
})

test('gate: entering twice is a bug, not a wait', () => {
  const gate = new Gate(Gate.memory())
  gate.enter()
  assert.throws(() => gate.enter(), /entered twice/)
})

test('gate: 4 threads at a model, ended 10 times, never abort the process', async (t) => {
  const target = await openTarget(golden('targets', 'qwen3_tied_bf16'))
  const captures = { layers: [1, 2, 3], captureFinal: false, dtype: 'bf16' } as const
  const graph = hiddenStatesGraph(target, captures)
  const model = await prepareModel(graph, await scratch(t), () => {})
  const child = spawn(process.execPath, [fileURLToPath(endThreads), model, '4', '10'])
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  }
  assert.deepEqual([...(await once(child, 'close')), said], [0, null, 'ended=40\n'])
})
