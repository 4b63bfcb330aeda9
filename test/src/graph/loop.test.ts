import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { Graph } from '../../../src/graph/graph.ts'
import { runnable } from '../../support/run-graph.ts'

/** x ← x · factor + offset, three times; each x is gathered. The factor is the outer graph's. */
function looping(carriedShape: readonly number[] = [2]): Graph {
  const graph = new Graph()
  const start = graph.input('x', { dtype: 'F32', shape: [2] })
  const factor = graph.node('factor', 'Neg', [graph.input('f', { dtype: 'F32', shape: [] })], {})
  const body = new Graph('each.')
  body.input('iteration', { dtype: 'I64', shape: [] })
  const going = body.input('going', { dtype: 'BOOL', shape: [] })
  const x = body.input('x', { dtype: 'F32', shape: carriedShape })
  body.bind('factor', factor)
  const given = body.input('factor', { dtype: 'F32', shape: [] })
  const scaled = body.node('scaled', 'Mul', [x, given], {})
  const next = body.node('next', 'Add', [scaled, body.scalar(1)], {})
  body.output('each.going:next', going)
  body.output('each.carried', next)
  body.output('each.gathered', x)
  const times = graph.integers(3)
  const [last, all] = graph.add('loop', 'Loop', [times, undefined, start], {
    body: { graph: body },
  })
  graph.output('last', last)
  graph.output('all', all)
  // What leaves the outer graph has another name in the file: the body must know it by that one.
  graph.output('negated', factor)
  return graph
}

test('loop: carries on, gathers, and computes with values of the graph around it', async () => {
  const graph = looping()
  assert.deepEqual(
    graph.outputs.map(({ value }) => value.shape),
    [[2], [3, 2], []],
  )
  const run = await runnable(graph)
  const { last, all, negated } = await run({ x: Float32Array.of(1, 2), f: Float32Array.of(-3) })
  assert.deepEqual(Array.from<number | bigint>(last), [40, 67])
  assert.deepEqual(Array.from<number | bigint>(all), [1, 2, 4, 7, 13, 22])
  assert.deepEqual(Array.from<number | bigint>(negated), [3])
})

test('loop: what changes its shape on the way is refused, and an input bound to another', () => {
  assert.throws(
    () => looping([3]),
    (error) => isFailure(error, 'invalid') && /carried as x changes/.test(error.message),
  )
  const graph = new Graph()
  graph.bind('y', graph.scalar(1))
  assert.throws(
    () => graph.input('y', { dtype: 'F32', shape: [2] }),
    (error) => isFailure(error, 'invalid') && /want=f32\[2\], found=f32\[\]/.test(error.message),
  )
})
