/** What goes into a graph and comes out of it, and the same as onnxruntime's tensors. */
import type { Tensor } from 'onnxruntime-node'
import { Failure } from '../failure.ts'
import type { Runtime } from './runtime.ts'

/** What goes in or comes out, row-major; a graph gives 16-bit floats as their bits, in U16. */
export type Feed =
  | { readonly dtype: 'I64'; readonly shape: readonly number[]; readonly data: BigInt64Array }
  | { readonly dtype: 'F32'; readonly shape: readonly number[]; readonly data: Float32Array }
  | { readonly dtype: 'U16'; readonly shape: readonly number[]; readonly data: Uint16Array }

/** By the names of a model's inputs or outputs. */
export type Feeds = Readonly<Record<string, Feed>>

/** Views on the same memory. */
export const tensorsOf = (runtime: Runtime, feeds: Feeds): Record<string, Tensor> =>
  Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, tensorOf(runtime, feed)]))

function tensorOf(runtime: Runtime, { dtype, shape, data }: Feed): Tensor {
  if (dtype === 'I64') return new runtime.Tensor('int64', data, shape)
  if (dtype === 'F32') return new runtime.Tensor('float32', data, shape)
  return new runtime.Tensor('uint16', data, shape)
}

export function feedOf(name: string, { data, dims: shape }: Tensor): Feed {
  if (data instanceof BigInt64Array) return { dtype: 'I64', shape, data }
  if (data instanceof Float32Array) return { dtype: 'F32', shape, data }
  if (data instanceof Uint16Array) return { dtype: 'U16', shape, data }
  throw new Failure('invalid', `output of a type that is not read. output=${name}`)
}

/** onnxruntime's own words are the cause: they name what it found wrong. */
export function runFailure(given: readonly Feeds[], cause: unknown): Failure {
  const feeds = given.flatMap((some) => Object.entries(some))
  const shapes = feeds.map(([name, feed]) => `${name}[${feed.shape}]`)
  return new Failure('invalid', `model does not run. feeds=${shapes.join(', ')}`, { cause })
}
