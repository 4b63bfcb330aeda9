/**
 * What comes out of each operator, from what goes in: total over the operators. A rule throws a
 * `Mismatch` that says what is wrong; graph.ts adds which node it was.
 */
import type { AttributesOf, Dim, InputsOf, Op, TensorType } from './ops.ts'

export class Mismatch extends Error {}

type Outputs = readonly [TensorType, ...TensorType[]]
type InferRules = {
  readonly [O in Op]: (inputs: InputsOf<O>, attributes: AttributesOf<O>) => Outputs
}

export const inferRules: InferRules = {
  Add: ([a, b]) => [broadcast(a, b)],
  Sub: ([a, b]) => [broadcast(a, b)],
  Mul: ([a, b]) => [broadcast(a, b)],
  MatMul: ([a, b]) => [matmul(a, b)],
  Sigmoid: ([x]) => [floating(x)],
  Cos: ([x]) => [floating(x)],
  Sin: ([x]) => [floating(x)],
  Cast: ([x], { to }) => [{ ...x, dtype: to }],
  BitCast([x], { to }) {
    need(bits[x.dtype] === bits[to], `${to} has another width than ${x.dtype}`)
    return [{ dtype: to, shape: x.shape }]
  },
  Gather([data, indices], { axis }) {
    need(isInteger(indices), 'indices are not integers')
    need(axis >= 0 && axis < data.shape.length, `no axis ${axis}`)
    const shape = [...data.shape.slice(0, axis), ...indices.shape, ...data.shape.slice(axis + 1)]
    return [{ dtype: data.dtype, shape }]
  },
  Transpose([x], { perm }) {
    const axes = [...perm].sort((a, b) => a - b)
    const whole = axes.length === x.shape.length && axes.every((axis, i) => axis === i)
    need(whole, `perm [${perm.join(', ')}] is no permutation of the axes`)
    return [{ dtype: x.dtype, shape: perm.map((axis) => x.shape[axis]) }]
  },
  Reshape: ([x, shape]) => [{ dtype: x.dtype, shape: reshape(x.shape, contents(shape)) }],
  Squeeze: ([x]) => [{ ...x, shape: x.shape.filter((dim) => dim !== 1) }],
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

const bits = { F32: 32, F16: 16, BF16: 16, I64: 64, I32: 32, U16: 16 }
const isInteger = (x: TensorType) => x.dtype === 'I64' || x.dtype === 'I32'
const sameShape = (a: readonly Dim[], b: readonly Dim[]) =>
  a.length === b.length && a.every((dim, i) => dim === b[i])

function need(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Mismatch(problem)
}

function floating(x: TensorType): TensorType {
  need(x.dtype === 'F32' || x.dtype === 'F16' || x.dtype === 'BF16', `${x.dtype} is no float`)
  return { dtype: x.dtype, shape: x.shape }
}

function contents(x: TensorType): readonly Dim[] {
  need(x.dtype === 'I64' && x.holds !== undefined, 'the integers of an input are not known here')
  return x.holds
}

/** NumPy's rule: aligned at the end, lengths equal or one of them 1. */
function broadcastShapes(a: readonly Dim[], b: readonly Dim[]): Dim[] {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, i) => {
    const left = a[i - rank + a.length] ?? 1
    const right = b[i - rank + b.length] ?? 1
    need(left === right || left === 1 || right === 1, `${left} does not broadcast with ${right}`)
    return left === 1 ? right : left
  })
}

function broadcast(a: TensorType, b: TensorType): TensorType {
  need(a.dtype === b.dtype, `${a.dtype} meets ${b.dtype}`)
  return { dtype: a.dtype, shape: broadcastShapes(a.shape, b.shape) }
}

function matmul(a: TensorType, b: TensorType): TensorType {
  need(a.dtype === b.dtype, `${a.dtype} meets ${b.dtype}`)
  need(a.shape.length >= 2 && b.shape.length >= 2, 'an input has fewer than two axes')
  const [inner, rows] = b.shape.slice(-2)
  need(a.shape.at(-1) === inner, `${a.shape.at(-1)} columns meet ${inner} rows`)
  const batch = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2))
  return { dtype: floating(a).dtype, shape: [...batch, a.shape[a.shape.length - 2], rows] }
}

/** The shape that `wanted`, with its 0 and -1, gives; named dimensions cancel by name. */
function reshape(from: readonly Dim[], wanted: readonly Dim[]): Dim[] {
  const shape = wanted.map((dim, axis) => {
    need(dim !== 0 || axis < from.length, `nothing to copy at axis ${axis}`)
    return dim === 0 ? from[axis] : dim
  })
  const before = elements(from)
  const after = elements(shape.filter((dim) => dim !== -1))
  for (const name of after.names) {
    const at = before.names.indexOf(name)
    need(at >= 0, `no dimension ${name} to fill [${shape.join(', ')}] from`)
    before.names.splice(at, 1)
  }
  if (!shape.includes(-1)) {
    const whole = before.names.length === 0 && before.fixed === after.fixed
    need(whole, `[${shape.join(', ')}] holds another number of elements`)
    return shape
  }
  const rest = before.fixed / after.fixed
  need(Number.isInteger(rest), `[${shape.join(', ')}] does not divide the elements`)
  const left: Dim = before.names.length
    ? [...(rest === 1 ? [] : [rest]), ...before.names].join('*')
    : rest
  return shape.map((dim) => (dim === -1 ? left : dim))
}

function elements(shape: readonly Dim[]): { fixed: number; names: string[] } {
  let fixed = 1
  const names: string[] = []
  for (const dim of shape) {
    if (typeof dim === 'number') fixed *= dim
    else names.push(...dim.split('*'))
  }
  return { fixed, names }
}
