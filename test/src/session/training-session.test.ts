import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { Graph } from '../../../src/graph/graph.ts'
import { FlatTensors } from '../../../src/optim/flat.ts'
import type { Feed } from '../../../src/session/feed.ts'
import { openTrainingSession } from '../../../src/session/training-session.ts'

const feed = (data: Float32Array): Feed => ({ dtype: 'F32', shape: [data.length], data })

/** grad:a = a × b, grad:b = a + b, sum = Σ(a × b). */
async function open(t: TestContext, elements: number) {
  const graph = new Graph()
  const a = graph.input('a', { dtype: 'F32', shape: [elements] })
  const b = graph.input('b', { dtype: 'F32', shape: [elements] })
  const product = graph.node('product', 'Mul', [a, b], {})
  graph.output('grad:a', product)
  graph.output('grad:b', graph.node('total', 'Add', [a, b], {}))
  graph.output(
    'sum',
    graph.node('sum', 'ReduceSum', [product, graph.integers([0])], { keepdims: 0 }),
  )
  const session = await openTrainingSession(graph, { device: 'cpu', threads: 1 })
  t.after(() => session.release())
  return session
}

function parameters(elements: number) {
  const flat = new FlatTensors(['a', 'b'].map((name) => ({ name, shape: [elements] })))
  const sum = new Float32Array(1)
  const inputs = {
    a: feed(flat.view('parameters', 'a')),
    b: feed(flat.view('parameters', 'b')),
  }
  const outputs = {
    'grad:a': feed(flat.view('gradients', 'a')),
    'grad:b': feed(flat.view('gradients', 'b')),
    sum: { dtype: 'F32', shape: [], data: sum },
  } as const
  return { flat, inputs, outputs, sum }
}

test('training session: outputs lie in the memory that was given, after each run', async (t) => {
  const session = await open(t, 3)
  const { flat, inputs, outputs, sum } = parameters(3)
  for (const factor of [1, 10]) {
    flat.view('parameters', 'a').set([1, 2, 3].map((value) => value * factor))
    flat.view('parameters', 'b').set([4, 5, 6])
    await session.run(inputs, outputs)
    const products = [4 * factor, 10 * factor, 18 * factor]
    assert.deepEqual([...flat.view('gradients', 'a')], products)
    assert.deepEqual([...flat.view('gradients', 'b')], [factor + 4, 2 * factor + 5, 3 * factor + 6])
    assert.deepEqual([...sum], [32 * factor])
    assert.deepEqual([...flat.view('addends', 'a')], [0, 0, 0])
  }
  assert.equal(session.spent.runs, 2)
  assert.ok(session.spent.ms > 0)
})

test('training session: fifty runs take no more memory than one', async (t) => {
  const elements = 2 ** 20
  const session = await open(t, elements)
  const { inputs, outputs } = parameters(elements)
  for (let run = 0; run < 5; run++) await session.run(inputs, outputs)
  const before = process.memoryUsage()
  for (let run = 0; run < 50; run++) await session.run(inputs, outputs)
  const after = process.memoryUsage()
  // Copies of the outputs would be 420 MB, were none of them collected.
  assert.ok(after.arrayBuffers - before.arrayBuffers < 1e6)
  assert.ok(after.rss - before.rss < 30e6, `${(after.rss - before.rss) / 1e6} MB`)
})

test('training session: what does not fit is refused, and another run goes on', async (t) => {
  const session = await open(t, 3)
  const { flat, inputs, outputs, sum } = parameters(3)
  const short = feed(new Float32Array(2))
  const { sum: left, ...some } = outputs
  for (const [given, places, want] of [
    [{ ...inputs, a: short }, outputs, /model does not run. feeds=a\[2\], b\[3\]/],
    [{ a: inputs.a }, outputs, /model does not run/],
    [inputs, { ...outputs, 'grad:a': short }, /model does not run.*grad:a\[2\]/],
    [inputs, some, /without place=sum, not of the graph=$/],
    [inputs, { ...outputs, other: left }, /without place=, not of the graph=other/],
  ] as const) {
    await assert.rejects(session.run(given, places), (error) => {
      return isFailure(error, 'invalid') && want.test(error.message)
    })
  }
  flat.view('parameters', 'a').fill(2)
  flat.view('parameters', 'b').fill(3)
  await session.run(inputs, outputs)
  assert.deepEqual([...sum], [18])
})

test('training session: other devices and graphs that do not load are refused', async () => {
  for (const [device, want] of [
    ['cuda:0', /device cannot be used. device=cuda:0/],
    ['webgpu', /does not run on this device. device=webgpu/],
    ['gpu', /unknown device/],
  ] as const) {
    await assert.rejects(openTrainingSession(new Graph(), { device, threads: 1 }), (error) => {
      return isFailure(error, 'invalid') && want.test(error.message)
    })
  }
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'BF16', shape: [2] })
  // Known to the standard, but not computed on a processor.
  graph.output('y', graph.node('y', 'Tanh', [x], {}))
  await assert.rejects(openTrainingSession(graph, { device: 'cpu', threads: 1 }), (error) => {
    return isFailure(error, 'invalid') && /does not load/.test(error.message)
  })
})
