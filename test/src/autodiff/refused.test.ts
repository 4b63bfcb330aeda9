import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradients } from '../../../src/autodiff/backward.ts'
import { composite } from '../../../src/autodiff/composite.ts'
import { isFailure } from '../../../src/failure.ts'
import { Builder } from '../../../src/graph/builder.ts'
import { Graph } from '../../../src/graph/graph.ts'
import type { Value } from '../../../src/graph/ops.ts'

/** The gradient of Σ y by x is refused with these words. */
function refuses(build: (b: Builder, inputs: readonly Value[]) => Value, words: RegExp): void {
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'F32', shape: [4, 3] })
  const b = new Builder(graph, 'refused')
  const y = build(b, [x])
  const loss = b.sum(y, Array.from(y.shape.keys()), 0)
  assert.throws(
    () => gradients(graph, loss, [x]),
    (error) => isFailure(error, 'invalid') && words.test(error.message),
  )
}

test('autodiff: what would lose a part of the gradient without a word is refused', () => {
  const scale = (b: Builder) => b.graph.floats('w', [3], Float32Array.of(1, 2, 3))
  const settings = { axis: -1, epsilon: { float: 1e-2 }, stash_type: 1 } as const
  refuses(
    (b, [x]) => b.ops('SimplifiedLayerNormalization', [x, scale(b)], settings)[1],
    /root of a norm has no gradient/,
  )
  const rows = (b: Builder, [x]: readonly Value[], text: 'add' | 'none') => {
    const updates = b.graph.floats('updates', [1, 3], new Float32Array(3))
    return b.op('ScatterND', [x, b.reshape(b.graph.integers([2]), [1, 1]), updates], {
      reduction: { text },
    })
  }
  refuses((b, inputs) => rows(b, inputs, 'none'), /only a scatter that adds.*reduction=none/)
  const kept = composite<readonly [Value], object, readonly [Value, Value]>({
    forward: (b, [x]) => [b.neg(x), b.mul(x, x)],
    vjp: ({ b, g }) => [() => b.neg(g)],
  })
  refuses(
    (b, [x]) => kept(b.graph, 'kept', [x], {})[1],
    /output has no gradient.*of=kept, output=1/,
  )
  refuses(
    (b, [x]) => b.op('Cast', [b.op('Cast', [x], { to: 'I64' })], { to: 'F32' }),
    /does not depend on a value/,
  )
})
