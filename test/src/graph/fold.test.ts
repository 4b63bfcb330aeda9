import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Builder } from '../../../src/graph/builder.ts'
import { encodeGraph } from '../../../src/graph/encode.ts'
import { Graph } from '../../../src/graph/graph.ts'

test('graph: what is computed of constants alone is one, rounded as the operator rounds', () => {
  const graph = new Graph()
  const b = new Builder(graph, 'constants')
  const list = graph.floats('list', [2, 1], Float32Array.of(0.1, -4))
  const scaled = b.mul(list, b.scalar(3))
  const flat = b.reshape(b.neg(b.op('Reciprocal', [scaled], {})), [2])
  assert.deepEqual(graph.nodes, [])
  const [third, twelfth] = [Math.fround(Math.fround(0.1) * 3), -12]
  const want = [third, twelfth].map((x) => Math.fround(-Math.fround(1 / x)))
  assert.deepEqual(Array.from(graph.numbers(flat) ?? []), want)
})

test('graph: a constant that changes shape by broadcasting, or meets an input, is computed', () => {
  const graph = new Graph()
  const b = new Builder(graph, 'values')
  const x = graph.input('x', { dtype: 'F32', shape: [2] })
  const row = graph.floats('row', [1, 2], Float32Array.of(1, 2))
  const column = graph.floats('column', [2, 1], Float32Array.of(3, 4))
  graph.output('grid', b.add(row, column))
  graph.output('moved', b.add(x, b.add(b.scalar(1), b.scalar(2))))
  assert.deepEqual(
    graph.nodes.map(({ op }) => op),
    ['Add', 'Add'],
  )
  assert.ok(encodeGraph(graph).length > 0)
})
