/**
 * Arithmetic of types and shapes, for infer.ts's rules. What does not fit throws a `Mismatch` that
 * says why; dimensions may be named.
 */
import type { Dim, TensorType } from './ops.ts'

export class Mismatch extends Error {}

export const isInteger = (x: TensorType) => x.dtype === 'I64' || x.dtype === 'I32'
export const sameShape = (a: readonly Dim[], b: readonly Dim[]) =>
  a.length === b.length && a.every((dim, i) => dim === b[i])

export function need(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Mismatch(problem)
}

export function floating(x: TensorType): TensorType {
  need(x.dtype === 'F32' || x.dtype === 'F16' || x.dtype === 'BF16', `${x.dtype} is no float`)
  return { dtype: x.dtype, shape: x.shape }
}

export function boolean(x: TensorType): TensorType {
  need(x.dtype === 'BOOL', `${x.dtype} is no boolean`)
  return { dtype: x.dtype, shape: x.shape }
}

export function fixed(dim: Dim): number {
  need(typeof dim === 'number', `${dim} is not known while building`)
  return dim
}

export function requireAxis(x: TensorType, axis: number): void {
  need(axis >= 0 && axis < x.shape.length, `no axis ${axis}`)
}

/** With its last two axes changed for each other. */
export function turned(x: TensorType): TensorType {
  need(x.shape.length >= 2, 'an input has fewer than two axes')
  const [rows, columns] = x.shape.slice(-2)
  return { dtype: x.dtype, shape: [...x.shape.slice(0, -2), columns, rows] }
}

export function reduced(x: TensorType, axes: readonly Dim[], keepdims: 0 | 1): TensorType {
  for (const axis of axes) requireAxis(x, fixed(axis))
  const shape = keepdims
    ? x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim))
    : x.shape.filter((_, i) => !axes.includes(i))
  return { dtype: x.dtype, shape }
}

/** Of integers that are known while building, the result is known too. */
export function calculated(
  a: TensorType,
  b: TensorType,
  by: (x: number, y: number) => number,
): TensorType {
  const type = broadcast(a, b)
  const [left, right] = [a.holds?.map(Number), b.holds?.map(Number)]
  if (!left || !right || [...left, ...right].some(Number.isNaN)) return type
  const length = Math.max(left.length, right.length)
  const at = (list: readonly number[], i: number) => list[list.length === 1 ? 0 : i]
  return { ...type, holds: Array.from({ length }, (_, i) => by(at(left, i), at(right, i))) }
}

export function contents(x: TensorType): readonly Dim[] {
  need(x.dtype === 'I64' && x.holds !== undefined, 'the integers of an input are not known here')
  return x.holds
}

/** NumPy's rule: aligned at the end, lengths equal or one of them 1. */
export function broadcastShapes(a: readonly Dim[], b: readonly Dim[]): Dim[] {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, i) => {
    const left = a[i - rank + a.length] ?? 1
    const right = b[i - rank + b.length] ?? 1
    need(left === right || left === 1 || right === 1, `${left} does not broadcast with ${right}`)
    return left === 1 ? right : left
  })
}

export function broadcast(a: TensorType, b: TensorType): TensorType {
  need(a.dtype === b.dtype, `${a.dtype} meets ${b.dtype}`)
  return { dtype: a.dtype, shape: broadcastShapes(a.shape, b.shape) }
}

export function matmul(a: TensorType, b: TensorType): TensorType {
  need(a.dtype === b.dtype, `${a.dtype} meets ${b.dtype}`)
  need(a.shape.length >= 2 && b.shape.length >= 2, 'an input has fewer than two axes')
  const [inner, rows] = b.shape.slice(-2)
  need(a.shape.at(-1) === inner, `${a.shape.at(-1)} columns meet ${inner} rows`)
  const batch = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2))
  return { dtype: floating(a).dtype, shape: [...batch, a.shape[a.shape.length - 2], rows] }
}

/** The shape that `wanted`, with its 0 and -1, gives; named dimensions cancel by name. */
export function reshape(from: readonly Dim[], wanted: readonly Dim[]): Dim[] {
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

/** The length of what is joined; with a named one among them, a name: `past+fresh+8`. */
export function summed(dims: readonly Dim[]): Dim {
  const known = dims.filter((dim) => typeof dim === 'number').reduce((sum, dim) => sum + dim, 0)
  const named = dims.filter((dim) => typeof dim === 'string')
  if (named.length === 0) return known
  return [...named, ...(known === 0 ? [] : [known])].join('+')
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
