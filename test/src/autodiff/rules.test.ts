import assert from 'node:assert/strict'
import { test } from 'node:test'
import { vjpRules } from '../../../src/autodiff/rules.ts'
import type { Builder } from '../../../src/graph/builder.ts'
import type { Op, Value } from '../../../src/graph/ops.ts'
import { checkGradient } from '../../support/check-gradient.ts'

type Build = (b: Builder, inputs: readonly Value[]) => Value

interface Case {
  readonly shapes: readonly (readonly number[])[]
  readonly build: Build
  readonly range?: readonly [number, number]
  readonly fixed?: readonly number[]
}

const positive = [0.5, 2] as const
const unary =
  (op: 'Neg' | 'Exp' | 'Log' | 'Sqrt' | 'Reciprocal' | 'Sigmoid' | 'Tanh' | 'Cos' | 'Sin'): Build =>
  (b, [x]) =>
    b.op(op, [x], {})
const binary =
  (op: 'Add' | 'Sub' | 'Mul' | 'Div' | 'MatMul'): Build =>
  (b, [x, y]) =>
    b.op(op, [x, y], {})
const product =
  (transA: boolean, transB: boolean): Build =>
  (b, [x, y]) =>
    b.matmul(x, y, { transA, transB, alpha: 0.5 })
const ints = (b: Builder, numbers: readonly number[]) => b.graph.integers(numbers)
const epsilon = { float: 1e-2 }
const slots = { num_heads: 2, rotary_embedding_dim: 4, interleaved: 0 } as const

const rotated: Build = (b, [x]) => {
  const angles = Float32Array.from({ length: 10 }, (_, i) => i * 0.37)
  const [cos, sin] = [Math.cos, Math.sin].map((f, i) =>
    b.graph.floats(`table${i}`, [5, 2], angles.map(f)),
  )
  const positions = b.reshape(ints(b, [0, 3, 4, 2, 2, 1]), [2, 3])
  return b.op('RotaryEmbedding', [x, positions, cos, sin], slots)
}

/** By operator; what is not here has no gradient, which the last test holds against the table. */
const cases: { readonly [O in Op]?: readonly Case[] } = {
  Add: [
    {
      shapes: [
        [2, 3],
        [2, 3],
      ],
      build: binary('Add'),
    },
    {
      shapes: [
        [2, 3, 2],
        [3, 1],
      ],
      build: binary('Add'),
    },
    { shapes: [[3], [2, 3]], build: binary('Add') },
    // One gradient comes to x three times.
    { shapes: [[3]], build: (b, [x]) => b.add(b.add(x, x), x) },
  ],
  Sub: [
    {
      shapes: [
        [2, 3],
        [1, 3],
      ],
      build: binary('Sub'),
    },
    { shapes: [[3], [2, 1]], build: binary('Sub') },
  ],
  Mul: [
    {
      shapes: [
        [2, 3],
        [2, 1],
      ],
      build: binary('Mul'),
    },
    {
      shapes: [[2, 2]],
      build: (b, [x]) => b.mul(x, x),
    },
  ],
  Div: [{ shapes: [[2, 3], [3]], build: binary('Div'), range: positive }],
  MatMul: [
    {
      shapes: [
        [2, 3],
        [3, 4],
      ],
      build: binary('MatMul'),
    },
    {
      shapes: [
        [2, 2, 3],
        [3, 4],
      ],
      build: binary('MatMul'),
    },
    {
      shapes: [
        [2, 1, 2, 3],
        [3, 3, 2],
      ],
      build: binary('MatMul'),
    },
  ],
  FusedMatMul: [
    {
      shapes: [
        [2, 3],
        [3, 4],
      ],
      build: product(false, false),
    },
    {
      shapes: [
        [3, 2],
        [3, 4],
      ],
      build: product(true, false),
    },
    {
      shapes: [
        [2, 3],
        [4, 3],
      ],
      build: product(false, true),
    },
    {
      shapes: [
        [3, 2],
        [4, 3],
      ],
      build: product(true, true),
    },
    {
      shapes: [
        [2, 2, 3],
        [4, 3],
      ],
      build: product(false, true),
    },
    {
      shapes: [
        [2, 3, 2],
        [2, 4, 3],
      ],
      build: product(true, true),
    },
    {
      shapes: [
        [2, 1, 2, 3],
        [1, 3, 4, 3],
      ],
      build: product(false, true),
    },
  ],
  Neg: [{ shapes: [[3]], build: unary('Neg') }],
  Exp: [{ shapes: [[3]], build: unary('Exp') }],
  Log: [{ shapes: [[3]], build: unary('Log'), range: positive }],
  Sqrt: [{ shapes: [[3]], build: unary('Sqrt'), range: positive }],
  Reciprocal: [{ shapes: [[3]], build: unary('Reciprocal'), range: positive }],
  Sigmoid: [{ shapes: [[3]], build: unary('Sigmoid') }],
  Tanh: [{ shapes: [[3]], build: unary('Tanh') }],
  Cos: [{ shapes: [[3]], build: unary('Cos') }],
  Sin: [{ shapes: [[3]], build: unary('Sin') }],
  Softmax: [
    { shapes: [[2, 3]], build: (b, [x]) => b.op('Softmax', [x], { axis: 1 }) },
    { shapes: [[2, 3, 2]], build: (b, [x]) => b.op('Softmax', [x], { axis: 1 }) },
  ],
  ReduceSum: [
    { shapes: [[2, 3, 2]], build: (b, [x]) => b.sum(x, [0, 2], 0) },
    { shapes: [[2, 3, 2]], build: (b, [x]) => b.sum(x, [1], 1) },
  ],
  ReduceMean: [
    {
      shapes: [[2, 3, 2]],
      build: (b, [x]) => b.op('ReduceMean', [x, ints(b, [0, 2])], { keepdims: 0 }),
    },
  ],
  ReduceMax: [
    { shapes: [[3, 4]], build: (b, [x]) => b.op('ReduceMax', [x, ints(b, [1])], { keepdims: 0 }) },
  ],
  Where: [
    {
      shapes: [[2, 3], [2, 1], [3]],
      build: (b, [x, y, z]) => b.op('Where', [b.op('Less', [x, b.scalar(0)], {}), y, z], {}),
      fixed: [0],
    },
  ],
  Cast: [{ shapes: [[3]], build: (b, [x]) => b.mul(b.op('Cast', [x], { to: 'F32' }), x) }],
  Gather: [
    {
      shapes: [[4, 2]],
      build: (b, [x]) => b.op('Gather', [x, b.reshape(ints(b, [3, 0, 3, 1]), [2, 2])], { axis: 0 }),
    },
    {
      shapes: [[2, 4, 3]],
      build: (b, [x]) => b.op('Gather', [x, ints(b, [3, 0, 3])], { axis: 1 }),
    },
  ],
  ScatterND: [
    {
      shapes: [
        [4, 2],
        [3, 2],
      ],
      build: (b, [x, y]) =>
        b.op('ScatterND', [x, b.reshape(ints(b, [3, 0, 3]), [3, 1]), y], {
          reduction: { text: 'add' },
        }),
    },
  ],
  Concat: [
    {
      shapes: [
        [2, 1],
        [2, 3],
        [2, 2],
      ],
      build: (b, [x, y, z]) => b.concat([x, y, z], 1),
    },
  ],
  Split: [
    { shapes: [[2, 5]], build: (b, [x]) => b.split(x, [2, 3], 1)[1] },
    { shapes: [[2, 4]], build: (b, [x]) => b.mul(...(b.split(x, [2, 2], 1) as [Value, Value])) },
  ],
  Slice: [
    {
      shapes: [[4, 5]],
      build: (b, [x]) => b.op('Slice', [x, ints(b, [1, 0]), ints(b, [3, 2]), ints(b, [0, 1])], {}),
    },
  ],
  Transpose: [{ shapes: [[2, 3, 4]], build: (b, [x]) => b.transpose(x, [2, 0, 1]) }],
  Reshape: [{ shapes: [[2, 6]], build: (b, [x]) => b.reshape(x, [3, 4]) }],
  Squeeze: [{ shapes: [[2, 1, 3]], build: (b, [x]) => b.op('Squeeze', [x], {}) }],
  Expand: [{ shapes: [[3, 1]], build: (b, [x]) => b.expand(x, [2, 3, 4]) }],
  RMSNormalization: [
    {
      shapes: [[2, 2, 3], [3]],
      build: (b, [x, w]) => b.op('RMSNormalization', [x, w], { epsilon }),
    },
  ],
  SimplifiedLayerNormalization: [
    {
      shapes: [[2, 2, 3], [3]],
      build: (b, [x, w]) =>
        b.op('SimplifiedLayerNormalization', [x, w], { axis: -1, epsilon, stash_type: 1 }),
    },
  ],
  RotaryEmbedding: [{ shapes: [[2, 3, 8]], build: rotated }],
}

for (const [op, list] of Object.entries(cases)) {
  for (const { shapes, ...rest } of list) {
    test(`autodiff: ${op} of ${shapes.map((shape) => `[${shape}]`).join(', ')}`, () =>
      checkGradient({ shapes, ...rest }))
  }
}

test('autodiff: every operator is checked here, or has no gradient', () => {
  const without = Object.keys(vjpRules).filter((op) => !(op in cases))
  assert.deepEqual(without.sort(), [
    'And',
    'ArgMax',
    'BitCast',
    'Equal',
    'GatherElements',
    'GroupQueryAttention',
    'Less',
    'LessOrEqual',
    'Loop',
    'Not',
    'Range',
    'Shape',
  ])
})
