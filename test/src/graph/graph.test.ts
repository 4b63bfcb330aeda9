import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { encodeGraph } from '../../../src/graph/encode.ts'
import { Graph } from '../../../src/graph/graph.ts'
import type { Dim, ElementType } from '../../../src/graph/ops.ts'

function graphWith(...inputs: readonly (readonly [ElementType, readonly Dim[]])[]) {
  const graph = new Graph()
  const values = inputs.map(([dtype, shape], i) => graph.input(`x${i}`, { dtype, shape }))
  return { graph, values }
}

const refuses = (build: () => unknown, ...words: readonly string[]) =>
  assert.throws(build, (error) => {
    assert.ok(isFailure(error, 'invalid'), String(error))
    for (const word of words) assert.ok(error.message.includes(word), `${error.message}: ${word}`)
    return true
  })

test('graph: named dimensions go through products, sums and reshapes', () => {
  const { graph, values } = graphWith(['F32', ['batch', 'tokens', 64]], ['F32', [64, 32]])
  const y = graph.node('y', 'MatMul', [values[0], values[1]], {})
  assert.deepEqual(y.shape, ['batch', 'tokens', 32])
  const sum = graph.node('sum', 'Add', [y, graph.floats('bias', [32], new Float32Array(32))], {})
  assert.deepEqual(sum.shape, ['batch', 'tokens', 32])
  const heads = graph.node('heads', 'Reshape', [sum, graph.integers([0, 0, -1, 8])], {})
  assert.deepEqual(heads.shape, ['batch', 'tokens', 4, 8])
  const rows = graph.node('rows', 'Reshape', [heads, graph.integers([-1, 32])], {})
  assert.deepEqual(rows.shape, ['batch*tokens', 32])
  const perm = graph.node('perm', 'Transpose', [heads], { perm: [0, 2, 3, 1] })
  assert.deepEqual(perm.shape, ['batch', 4, 8, 'tokens'])
})

test('graph: what a shape tensor holds is known while building', () => {
  const { graph, values } = graphWith(['I64', ['batch', 'tokens']])
  const shape = graph.node('shape', 'Shape', [values[0]], { start: 1, end: 2 })
  const tokens = graph.node('tokens', 'Squeeze', [shape], {})
  const bounds = [graph.integers(0), tokens, graph.integers(1)] as const
  const range = graph.node('range', 'Range', bounds, {})
  assert.deepEqual([range.dtype, range.shape], ['I64', ['tokens']])
  const rows = graph.node('rows', 'Shape', [values[0]], { start: 0, end: 1 })
  const spread = graph.node('spread', 'Expand', [graph.cast('short', tokens, 'I32'), rows], {})
  assert.deepEqual([spread.dtype, spread.shape], ['I32', ['batch']])
})

test('graph: a node that does not fit is named, with its inputs', () => {
  const { graph, values } = graphWith(['F32', ['batch', 8]], ['F32', [4, 2]], ['I64', ['batch']])
  const [a, b, ids] = values
  const matmul = () => graph.node('layers.3.q', 'MatMul', [a, b], {})
  refuses(matmul, 'node=layers.3.q', 'op=MatMul', '(f32[batch, 8], f32[4, 2])', '8 columns')
  refuses(() => graph.node('n', 'Add', [a, b], {}), 'batch does not broadcast with 4')
  refuses(() => graph.node('n', 'Mul', [a, ids], {}), 'F32 meets I64')
  refuses(() => graph.node('n', 'Cos', [ids], {}), 'I64 is no float')
  refuses(() => graph.node('n', 'BitCast', [a], { to: 'U16' }), 'another width')
  refuses(() => graph.node('n', 'Gather', [b, a], { axis: 0 }), 'indices are not integers')
  refuses(() => graph.node('n', 'Transpose', [a], { perm: [1, 1] }), 'no permutation')
  refuses(() => graph.node('n', 'RMSNormalization', [a, ids], { epsilon: { float: 1 } }), 'type')
})

test('graph: a reshape that loses or invents elements is refused', () => {
  const { graph, values } = graphWith(['F32', ['batch', 'tokens', 12]], ['I64', [2]])
  const [x, unknown] = values
  const reshape = (shape: readonly number[]) => () =>
    graph.node('n', 'Reshape', [x, graph.integers(shape)], {})
  refuses(reshape([0, 0, 13]), 'another number of elements')
  refuses(reshape([0, 12]), 'another number of elements')
  refuses(reshape([0, 0, -1, 5]), 'does not divide')
  refuses(reshape([0, 0, 0, 0]), 'nothing to copy at axis 3')
  refuses(() => graph.node('n', 'Reshape', [x, unknown], {}), 'not known here')
})

test('graph: attention wants heads that share keys evenly, and tables as long as its rows', () => {
  const { graph, values } = graphWith(
    ['F32', ['batch', 'tokens', 64]],
    ['F32', ['batch', 'tokens', 32]],
    ['I32', ['batch']],
    ['I32', []],
    ['F32', ['tokens', 8]],
    ['F32', ['tokens', 16]],
  )
  const [q, kv, last, total, table, wide] = values
  const attend = (heads: number, tables = table) =>
    graph.add(
      `attention ${heads}`,
      'GroupQueryAttention',
      [q, kv, kv, undefined, undefined, last, total, tables, tables],
      { num_heads: heads, kv_num_heads: 2, do_rotary: 1, scale: { float: 0.25 } },
    )
  const [y, key] = attend(4)
  assert.deepEqual(y.shape, ['batch', 'tokens', 64])
  assert.deepEqual(key.shape, ['batch', 2, 'tokens', 16])
  refuses(() => attend(5), 'no even head width for 5 heads')
  refuses(() => attend(1), '1 heads do not share 2 evenly')
  refuses(() => attend(8), 'key or value is not')
  refuses(() => attend(4, wide), 'cos or sin is not [tokens,8]')
})

test('graph: two values or two outputs of one name are refused', () => {
  const { graph, values } = graphWith(['F32', [1]])
  refuses(() => graph.input('x0', { dtype: 'F32', shape: [] }), 'name=x0')
  graph.output('y', values[0])
  refuses(() => graph.output('y', values[0]), 'name=y')
})

test('graph: the same graph gives the same bytes', () => {
  const build = () => {
    const { graph, values } = graphWith(['F32', ['batch', 4]])
    const y = graph.node('y', 'Reshape', [values[0], graph.integers([-1, 2])], {})
    graph.output('out', graph.node('cos', 'Cos', [y], {}))
    return encodeGraph(graph)
  }
  assert.deepEqual(build(), build())
})

test('graph: attention takes a past of keys and values that is long enough for both', () => {
  const past = ['F32', [1, 2, 'capacity', 16]] as const
  const { graph, values } = graphWith(
    ['F32', [1, 'tokens', 64]],
    ['F32', [1, 'tokens', 32]],
    past,
    past,
    ['I32', [1]],
    ['I32', []],
    ['F32', ['total', 8]],
  )
  const [query, key, pastKey, pastValue, last, total, table] = values
  const attention = (name: string, kept: typeof pastKey | undefined) =>
    graph.add(
      name,
      'GroupQueryAttention',
      [query, key, key, kept, pastValue, last, total, table, table],
      { num_heads: 4, kv_num_heads: 2, do_rotary: 1, scale: { float: 0.25 } },
    )
  const [mixed, ...present] = attention('mixed', pastKey)
  assert.deepEqual(mixed.shape, [1, 'tokens', 64])
  for (const { shape } of present) assert.deepEqual(shape, [1, 2, 'capacity', 16])
  refuses(() => attention('one', undefined), 'a past has keys and values')
  refuses(() => attention('other', key), 'a past is not [')
})

test('graph: a length that runs bring is not squeezed away where it is 1', () => {
  const { graph, values } = graphWith(['F32', ['tokens', 1, 4]])
  refuses(() => graph.node('y', 'Squeeze', [values[0]], {}), 'tokens is not known while building')
})

test('graph: minus zero is another constant than zero', () => {
  const graph = new Graph()
  assert.notEqual(graph.scalar(-0), graph.scalar(0))
  assert.ok(Object.is(graph.numbers(graph.scalar(-0))?.[0], -0))
})
