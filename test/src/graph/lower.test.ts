import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { Graph } from '../../../src/graph/graph.ts'
import { lower } from '../../../src/graph/lower.ts'
import { runnable } from '../../support/run-graph.ts'

/** Products turned in every way, of two and of four axes, and a norm with both its outputs. */
function fused(): Graph {
  const graph = new Graph()
  const shapes = { a: [3, 4], b: [4, 5], c: [2, 1, 4, 3], scale: [5] }
  const [a, b, c, scale] = Object.entries(shapes).map(([name, shape]) =>
    graph.input(name, { dtype: 'F32', shape }),
  )
  const product = (name: string, alpha: number, trans: readonly [0 | 1, 0 | 1]) => ({
    name,
    attributes: { transA: trans[0], transB: trans[1], alpha: { float: alpha } },
  })
  const plain = product('plain', 0.5, [0, 0])
  const ab = graph.node(plain.name, 'FusedMatMul', [a, b], plain.attributes)
  const turned = product('turned', 1, [1, 1])
  const ba = graph.node(turned.name, 'FusedMatMul', [b, a], turned.attributes)
  const wide = product('wide', -2, [1, 0])
  const cb = graph.node(wide.name, 'FusedMatMul', [c, b], wide.attributes)
  const [y, r] = graph.add('norm', 'SimplifiedLayerNormalization', [ab, scale], {
    axis: -1,
    epsilon: { float: 1e-6 },
    stash_type: 1,
  })
  for (const value of [ab, ba, cb, y, r]) graph.output(`out:${value.name}`, value)
  return graph
}

test('lower: the same numbers by operators that every provider has', async () => {
  const random = seededRandom(1)
  const graph = fused()
  const feeds = Object.fromEntries(
    graph.inputs.map(({ name, shape }) => {
      const count = shape.reduce<number>((product, dim) => product * Number(dim), 1)
      return [name, Float32Array.from({ length: count }, () => random() - 0.5)]
    }),
  )
  const wanted = await (await runnable(graph))(feeds)
  lower(graph)
  const ops = new Set(graph.nodes.map(({ op }) => op))
  assert.ok(!ops.has('FusedMatMul'))
  const norms = graph.nodes.filter(({ op }) => op === 'SimplifiedLayerNormalization')
  assert.deepEqual(
    norms.map(({ outputs }) => outputs.length),
    [1],
  )
  const found = await (await runnable(graph))(feeds)
  assert.deepEqual(Object.keys(found), Object.keys(wanted))
  for (const [name, numbers] of Object.entries(wanted)) {
    numbers.forEach((want, i) => {
      assert.ok(
        Math.abs(Number(found[name][i]) - Number(want)) < 1e-6 * (1 + Math.abs(Number(want))),
      )
    })
  }
})
