import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph } from '../../../src/graph/graph.ts'
import { inRunOrder } from '../../../src/graph/run-order.ts'

test('run order: what nothing needs stands last, the first of it at the very end', () => {
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'F32', shape: [2] })
  const twice = (name: string, of: typeof x) => graph.node(name, 'Add', [of, of], {})
  const a = twice('a', x)
  twice('end of a', a)
  const b = twice('b', a)
  twice('end of b', b)
  const both = graph.add('both', 'Split', [b, graph.integers([1, 1])], { axis: 0 })
  twice('end of both', both[1])
  assert.deepEqual(
    inRunOrder(graph.nodes).map(({ name }) => name),
    ['a', 'b', 'both', 'end of both', 'end of b', 'end of a'],
  )
})
