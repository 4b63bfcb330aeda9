/**
 * What comes out of each operator, from what goes in: total over the operators. A rule throws a
 * `Mismatch` that says what is wrong; graph.ts adds which node it was.
 */
import type { AttributesOf, InputsOf, Op, TensorType } from './ops.ts'
import {
  boolean,
  broadcast,
  broadcastShapes,
  calculated,
  contents,
  fixed,
  floating,
  isInteger,
  matmul,
  need,
  reduced,
  requireAxis,
  reshape,
  sameShape,
  summed,
  turned,
} from './shapes.ts'

const bits = { F32: 32, F16: 16, BF16: 16, I64: 64, I32: 32, U16: 16, BOOL: 8 }

type Outputs = readonly [TensorType, ...TensorType[]]
type InferRules = {
  readonly [O in Op]: (inputs: InputsOf<O>, attributes: AttributesOf<O>) => Outputs
}

export const inferRules: InferRules = {
  Add: ([a, b]) => [calculated(a, b, (x, y) => x + y)],
  Sub: ([a, b]) => [calculated(a, b, (x, y) => x - y)],
  Mul: ([a, b]) => [calculated(a, b, (x, y) => x * y)],
  Div: ([a, b]) => [broadcast(a, b)],
  MatMul: ([a, b]) => [matmul(a, b)],
  FusedMatMul: ([a, b], { transA, transB }) => [
    matmul(transA ? turned(a) : a, transB ? turned(b) : b),
  ],
  Neg: ([x]) => [floating(x)],
  Exp: ([x]) => [floating(x)],
  Log: ([x]) => [floating(x)],
  Sqrt: ([x]) => [floating(x)],
  Reciprocal: ([x]) => [floating(x)],
  Sigmoid: ([x]) => [floating(x)],
  Tanh: ([x]) => [floating(x)],
  Cos: ([x]) => [floating(x)],
  Sin: ([x]) => [floating(x)],
  Softmax([x], { axis }) {
    requireAxis(x, axis)
    return [floating(x)]
  },
  ReduceSum: ([x, axes], { keepdims }) => [reduced(x, contents(axes), keepdims)],
  ReduceMean: ([x, axes], { keepdims }) => [floating(reduced(x, contents(axes), keepdims))],
  ReduceMax: ([x, axes], { keepdims }) => [reduced(x, contents(axes), keepdims)],
  Equal: ([a, b]) => [{ ...broadcast(a, b), dtype: 'BOOL' }],
  Less: ([a, b]) => [{ ...broadcast(a, b), dtype: 'BOOL' }],
  LessOrEqual: ([a, b]) => [{ ...broadcast(a, b), dtype: 'BOOL' }],
  Loop([times, , ...carried], { body: { graph } }) {
    need(times.shape.length === 0, 'times is no scalar')
    const [count] = contents(times)
    const [, , ...entering] = graph.inputs
    const [, ...left] = graph.outputs.map(({ value }) => value)
    need(entering.length === carried.length, `${carried.length} are carried into a body of others`)
    carried.forEach((value, i) => {
      for (const other of [entering[i], left[i]]) {
        const same = other?.dtype === value.dtype && sameShape(other.shape, value.shape)
        need(same, `what is carried as ${value.name} changes its type or shape`)
      }
    })
    const gathered = left.slice(carried.length).map(({ dtype, shape }) => {
      return { dtype, shape: [count, ...shape] }
    })
    const [first, ...more] = [...carried.map(({ dtype, shape }) => ({ dtype, shape })), ...gathered]
    need(first !== undefined, 'nothing comes out of a loop')
    return [first, ...more]
  },
  And: ([a, b]) => [broadcast(boolean(a), boolean(b))],
  Not: ([x]) => [boolean(x)],
  Where([condition, yes, no]) {
    const { shape } = broadcast(yes, no)
    return [{ dtype: yes.dtype, shape: broadcastShapes(boolean(condition).shape, shape) }]
  },
  ArgMax([x], { axis }) {
    requireAxis(x, axis)
    return [{ dtype: 'I64', shape: x.shape.map((dim, i) => (i === axis ? 1 : dim)) }]
  },
  Cast: ([x], { to }) => [{ ...x, dtype: to }],
  BitCast([x], { to }) {
    need(bits[x.dtype] === bits[to], `${to} has another width than ${x.dtype}`)
    return [{ dtype: to, shape: x.shape }]
  },
  Gather([data, indices], { axis }) {
    need(isInteger(indices), 'indices are not integers')
    requireAxis(data, axis)
    const shape = [...data.shape.slice(0, axis), ...indices.shape, ...data.shape.slice(axis + 1)]
    return [{ dtype: data.dtype, shape }]
  },
  GatherElements([data, indices], { axis }) {
    need(isInteger(indices), 'indices are not integers')
    requireAxis(data, axis)
    const others = (x: TensorType) => x.shape.filter((_, i) => i !== axis)
    need(sameShape(others(data), others(indices)), 'data and indices differ beside the axis')
    return [{ dtype: data.dtype, shape: indices.shape }]
  },
  ScatterND([data, indices, updates]) {
    need(indices.dtype === 'I64', 'indices are not I64')
    const [rows, one] = indices.shape
    need(indices.shape.length === 2 && one === 1, 'indices are not [rows, 1]')
    need(data.dtype === updates.dtype, 'data and updates differ in type')
    const want = [rows, ...data.shape.slice(1)]
    need(sameShape(updates.shape, want), `updates are not [${want.join(', ')}]`)
    return [{ dtype: data.dtype, shape: data.shape }]
  },
  Concat(parts, { axis }) {
    const [first, ...more] = parts
    requireAxis(first, axis)
    const others = (x: TensorType) => x.shape.filter((_, i) => i !== axis)
    for (const part of more) {
      need(part.dtype === first.dtype, 'parts differ in type')
      need(sameShape(others(part), others(first)), 'parts differ beside the axis')
    }
    const length = summed(parts.map((part) => part.shape[axis]))
    return [{ dtype: first.dtype, shape: first.shape.map((dim, i) => (i === axis ? length : dim)) }]
  },
  Split([x, lengths], { axis }) {
    requireAxis(x, axis)
    const [first, ...more] = contents(lengths).map(fixed)
    const whole = [first, ...more].reduce((sum, length) => sum + length)
    need(whole === x.shape[axis], `parts of ${whole} in all meet ${x.shape[axis]}`)
    const part = (length: number): TensorType => ({
      dtype: x.dtype,
      shape: x.shape.map((dim, i) => (i === axis ? length : dim)),
    })
    return [part(first), ...more.map(part)]
  },
  Slice([x, starts, ends, axes]) {
    const [from, to] = [contents(starts).map(fixed), contents(ends).map(fixed)]
    const shape = [...x.shape]
    contents(axes).forEach((named, i) => {
      const axis = fixed(named)
      requireAxis(x, axis)
      const length = fixed(x.shape[axis])
      const inside = from[i] >= 0 && from[i] <= to[i] && to[i] <= length
      need(inside, `[${from[i]}, ${to[i]}) is not within ${length}`)
      shape[axis] = to[i] - from[i]
    })
    return [{ dtype: x.dtype, shape }]
  },
  Transpose([x], { perm }) {
    const axes = [...perm].sort((a, b) => a - b)
    const whole = axes.length === x.shape.length && axes.every((axis, i) => axis === i)
    need(whole, `perm [${perm.join(', ')}] is no permutation of the axes`)
    return [{ dtype: x.dtype, shape: perm.map((axis) => x.shape[axis]) }]
  },
  Reshape: ([x, shape]) => [{ dtype: x.dtype, shape: reshape(x.shape, contents(shape)) }],
  // A named length may turn out to be 1, and would be dropped too.
  Squeeze: ([x]) => [{ ...x, shape: x.shape.filter((dim) => fixed(dim) !== 1) }],
  Shape([x], { start, end }) {
    need(start >= 0 && start <= end && end <= x.shape.length, `no axes [${start}, ${end})`)
    return [{ dtype: 'I64', shape: [end - start], holds: x.shape.slice(start, end) }]
  },
  Expand: ([x, shape]) => [broadcast(x, { dtype: x.dtype, shape: contents(shape) })],
  Range([start, limit, delta]) {
    const [from, to, step] = [start, limit, delta].map((x) => contents(x)[0])
    need(
      [start, limit, delta].every((x) => x.shape.length === 0),
      'a bound is no scalar',
    )
    need(from === 0 && step === 1, 'only ranges from 0 by 1 are built')
    need(start.dtype === limit.dtype && limit.dtype === delta.dtype, 'bounds differ in type')
    return [{ dtype: limit.dtype, shape: [to] }]
  },
  RMSNormalization([x, scale]) {
    need(x.dtype === scale.dtype, 'x and scale differ in type')
    need(scale.shape.length === 1 && scale.shape[0] === x.shape.at(-1), 'scale is not one row of x')
    return [floating(x)]
  },
  SimplifiedLayerNormalization([x, scale]) {
    need(x.dtype === scale.dtype, 'x and scale differ in type')
    need(scale.shape.length === 1 && scale.shape[0] === x.shape.at(-1), 'scale is not one row of x')
    return [floating(x), { dtype: 'F32', shape: [...x.shape.slice(0, -1), 1] }]
  },
  RotaryEmbedding([x, positions, cos, sin], { num_heads, rotary_embedding_dim }) {
    const [batch, tokens, width] = x.shape
    need(x.shape.length === 3, 'x is not [batch, tokens, width]')
    need(width === num_heads * rotary_embedding_dim, `width is not ${num_heads} heads`)
    need(positions.dtype === 'I64', 'positions are not I64')
    need(sameShape(positions.shape, [batch, tokens]), 'positions are not [batch, tokens]')
    const fits = cos.shape.length === 2 && cos.shape[1] === rotary_embedding_dim / 2
    need(fits && sameShape(cos.shape, sin.shape), 'cos or sin is not [positions, headDim / 2]')
    need(x.dtype === cos.dtype && x.dtype === sin.dtype, 'floating inputs differ in type')
    return [floating(x)]
  },
  GroupQueryAttention: (inputs, attributes) => groupQueryAttention(inputs, attributes),
}

function groupQueryAttention(
  [
    query,
    key,
    value,
    pastKey,
    pastValue,
    seqlensK,
    total,
    cos,
    sin,
  ]: InputsOf<'GroupQueryAttention'>,
  { num_heads, kv_num_heads }: AttributesOf<'GroupQueryAttention'>,
): Outputs {
  const [batch, tokens, width] = query.shape
  need(query.shape.length === 3 && typeof width === 'number', 'query is not [batch, tokens, width]')
  const headDim = Number(width) / num_heads
  need(Number.isInteger(headDim) && headDim % 2 === 0, `no even head width for ${num_heads} heads`)
  need(num_heads % kv_num_heads === 0, `${num_heads} heads do not share ${kv_num_heads} evenly`)
  const floats = [query, key, value, cos, sin]
  need(
    floats.every((x) => x.dtype === query.dtype),
    'floating inputs differ in type',
  )
  const kv = [batch, tokens, kv_num_heads * headDim]
  need(sameShape(key.shape, kv) && sameShape(value.shape, kv), `key or value is not [${kv}]`)
  need(seqlensK.dtype === 'I32' && sameShape(seqlensK.shape, [batch]), 'seqlens_k is not [batch]')
  need(total.dtype === 'I32' && total.shape.length === 0, 'total_sequence_length is no I32 scalar')
  need((pastKey === undefined) === (pastValue === undefined), 'a past has keys and values')
  const table = [pastKey ? cos.shape[0] : tokens, headDim / 2]
  const tables = sameShape(cos.shape, table) && sameShape(sin.shape, table)
  need(tables, `cos or sin is not [${table}]`)
  const capacity = pastKey ? pastKey.shape[2] : tokens
  const present: TensorType = {
    dtype: query.dtype,
    shape: [batch, kv_num_heads, capacity, headDim],
  }
  for (const past of [pastKey, pastValue]) {
    if (past === undefined) continue
    const fits = past.dtype === present.dtype && sameShape(past.shape, present.shape)
    need(fits, `a past is not [${present.shape}]`)
  }
  return [{ dtype: query.dtype, shape: query.shape }, present, present]
}
