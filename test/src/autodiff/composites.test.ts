import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradients } from '../../../src/autodiff/backward.ts'
import { blockAttention } from '../../../src/autodiff/block-attention.ts'
import { boundedAttention } from '../../../src/autodiff/bounded-attention.ts'
import { headLoss } from '../../../src/autodiff/head-loss.ts'
import { recomputed } from '../../../src/autodiff/recomputed.ts'
import { swiglu } from '../../../src/autodiff/swiglu.ts'
import { isFailure } from '../../../src/failure.ts'
import { Builder } from '../../../src/graph/builder.ts'
import { Graph } from '../../../src/graph/graph.ts'
import type { Value } from '../../../src/graph/ops.ts'
import { checkGradient } from '../../support/check-gradient.ts'
import { runnable } from '../../support/run-graph.ts'

test('autodiff: SwiGLU', () =>
  checkGradient({
    shapes: [
      [2, 3],
      [2, 3],
    ],
    build: (b, [gate, up]) => swiglu(b.graph, 'swiglu', [gate, up], {})[0],
  }))

type Masks = 'context' | 'both' | 'one for all blocks' | 'one for each block'

const attended =
  (masks: Masks, blocksAtOnce?: number) => (b: Builder, inputs: readonly Value[]) => {
    const [query, contextKey, contextValue, blockKey, blockValue] = inputs
    const far = masks === 'one for all blocks' ? [0, 0, -1e30] : [0, 0, -1e30, 0, -1e30, -1e30]
    const shape = [1, 1, far.length / 3, 1, 3]
    const contextMask = b.graph.floats('context', shape, Float32Array.from(far))
    const near = [0, -1e30, 0, 0]
    const blockMask =
      masks === 'one for each block'
        ? b.graph.floats('block', [2, 2, 2], Float32Array.of(...near, -1e30, 0, 0, -1e30))
        : b.graph.floats('block', [2, 2], Float32Array.from(near))
    const given = [query, contextKey, contextValue, blockKey, blockValue, contextMask] as const
    const all = masks === 'context' ? given : ([...given, blockMask] as const)
    const scale = 0.7
    return blocksAtOnce === undefined
      ? blockAttention(b.graph, 'attention', all, { scale })[0]
      : boundedAttention(b.graph, 'attention', all, { scale, blocksAtOnce })[0]
  }
const attentionShapes = [
  [1, 2, 2, 2, 2],
  [1, 2, 3, 2],
  [1, 2, 3, 2],
  [1, 2, 2, 2, 2],
  [1, 2, 2, 2, 2],
]
for (const masks of ['context', 'both', 'one for all blocks', 'one for each block'] as const) {
  test(`autodiff: attention over context and block, masked: ${masks}`, () =>
    checkGradient({ shapes: attentionShapes, build: attended(masks) }))
  test(`autodiff: attention of one block after the other, masked: ${masks}`, () =>
    checkGradient({ shapes: attentionShapes, build: attended(masks, 1) }))
}

const headShapes = [
  [5, 3],
  [4, 3],
]
const lossOf =
  (logitBytes: number, trained: boolean) =>
  (b: Builder, [hidden, head]: readonly Value[]) => {
    const labels = b.graph.integers([3, 0, 3, 1, 2])
    const weights = b.graph.floats('weights', [5], Float32Array.of(0.5, 0, 0.25, 1, 0.125))
    return headLoss(b.graph, 'loss', [hidden, head, labels, weights], { logitBytes, trained })[0]
  }
for (const logitBytes of [1, 32, 1e6]) {
  test(`autodiff: loss through a trained head, logits of ${logitBytes} bytes at once`, () =>
    checkGradient({ shapes: headShapes, build: lossOf(logitBytes, true) }))
  test(`autodiff: loss through a frozen head, logits of ${logitBytes} bytes at once`, () =>
    checkGradient({ shapes: headShapes, build: lossOf(logitBytes, false), fixed: [1] }))
}

for (const logitBytes of [1, 1e6]) {
  test(`autodiff: loss through a frozen head that is taught, ${logitBytes} bytes at once`, () =>
    checkGradient({
      shapes: [...headShapes, [5, 3]],
      fixed: [1, 2],
      build(b, [hidden, head, teacher]) {
        const labels = b.graph.integers([3, 0, 3, 1, 2])
        const weights = b.graph.floats('weights', [5], Float32Array.of(0.5, 0, 0.25, 1, 0.125))
        const distillation = { weight: 0.3, temperature: 1.5 }
        const settings = { logitBytes, trained: false, distillation }
        return headLoss(b.graph, 'loss', [hidden, head, labels, weights, teacher], settings)[0]
      },
    }))
}

test('autodiff: a region that is computed again gives the same gradients', async () => {
  const build = (again: boolean) => {
    const graph = new Graph()
    const [x, w] = ['x', 'w'].map((name) => graph.input(name, { dtype: 'F32', shape: [2, 2] }))
    const layer = (given: Value, name: string) => {
      const b = new Builder(graph, name)
      return [b.op('Tanh', [b.matmul(given, w)], {})]
    }
    const through = (given: Value, name: string) =>
      again
        ? recomputed(graph, { name, inputs: [given] }, ([value]) => layer(value, name))[0]
        : layer(given, name)[0]
    const loss = new Builder(graph, 'all').sum(through(through(x, 'a'), 'b'), [0, 1], 0)
    graph.output('loss', loss)
    gradients(graph, loss, [x, w]).forEach((g, i) => {
      graph.output(i === 0 ? 'dx' : 'dw', g)
    })
    return graph
  }
  const feeds = { x: Float32Array.of(1, -2, 0.5, 3), w: Float32Array.of(0.3, -0.1, 0.2, 0.4) }
  const [plain, again] = [build(false), build(true)]
  assert.deepEqual(await (await runnable(plain))(feeds), await (await runnable(again))(feeds))
  const tanhs = (graph: Graph) => graph.nodes.filter(({ op }) => op === 'Tanh').length
  assert.deepEqual([tanhs(plain), tanhs(again)], [2, 4])
})

test('autodiff: what has no gradient is refused by name, with the line that wanted it', () => {
  const fails = (from: 'x' | 'other', to: 'loss' | 'picked', ...words: readonly string[]) => {
    const graph = new Graph()
    const x = graph.input('x', { dtype: 'F32', shape: [2, 2] })
    const other = graph.input('other', { dtype: 'F32', shape: [2, 2] })
    const b = new Builder(graph, 'layer')
    const places = b.reshape(graph.integers([0, 1]), [1, 2])
    const picked = b.op('GatherElements', [x, places], { axis: 0 })
    const values = { x, other, picked, loss: b.sum(picked, [0, 1], 0) }
    assert.throws(
      () => gradients(graph, values[to], [values[from]]),
      (error) => isFailure(error, 'invalid') && words.every((word) => error.message.includes(word)),
    )
  }
  fails('x', 'loss', 'node=layer.gatherelements', 'inputs=(f32[2, 2]', 'composites.test.')
  fails('other', 'loss', 'value=other')
  fails('x', 'picked', 'a loss is no scalar')
})
