/** A tensor in memory, and its elements as the typed array that holds them. */

import { Failure } from '../failure.ts'
import { bfloat16ToFloat32 } from './bfloat16.ts'
import { type DType, dtypeBits } from './dtype.ts'
import { float16ToFloat32 } from './float16.ts'

/** A tensor as safetensors holds one. */
export interface Tensor {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  /** Little-endian, row-major, without gaps; often a view of a bigger buffer, at any offset. */
  readonly data: Uint8Array
}

/** The types that a typed array holds; BF16 and F16 as their bits. */
interface ElementArrays {
  readonly BOOL: Uint8Array
  readonly U8: Uint8Array
  readonly I8: Int8Array
  readonly U16: Uint16Array
  readonly I16: Int16Array
  readonly BF16: Uint16Array
  readonly F16: Uint16Array
  readonly U32: Uint32Array
  readonly I32: Int32Array
  readonly F32: Float32Array
  readonly U64: BigUint64Array
  readonly I64: BigInt64Array
  readonly F64: Float64Array
}

type View<A> = (buffer: ArrayBufferLike, byteOffset: number, length: number) => A

const views: { readonly [D in keyof ElementArrays]: View<ElementArrays[D]> } = {
  BOOL: (...at) => new Uint8Array(...at),
  U8: (...at) => new Uint8Array(...at),
  I8: (...at) => new Int8Array(...at),
  U16: (...at) => new Uint16Array(...at),
  I16: (...at) => new Int16Array(...at),
  BF16: (...at) => new Uint16Array(...at),
  F16: (...at) => new Uint16Array(...at),
  U32: (...at) => new Uint32Array(...at),
  I32: (...at) => new Int32Array(...at),
  F32: (...at) => new Float32Array(...at),
  U64: (...at) => new BigUint64Array(...at),
  I64: (...at) => new BigInt64Array(...at),
  F64: (...at) => new Float64Array(...at),
}

/**
 * The tensor's elements: a view where its bytes are aligned; a copy where not, which is legal too.
 *
 * @throws  Failure `invalid`: the tensor has another type
 */
export function elements<D extends keyof ElementArrays>(
  tensor: Tensor,
  dtype: D,
): ElementArrays[D] {
  if (tensor.dtype !== dtype) throw wrongType(tensor, dtype)
  const elementBytes = dtypeBits[dtype] / 8
  const aligned = tensor.data.byteOffset % elementBytes === 0
  // Not `slice`: of a Buffer that is another view, as unaligned as the first.
  const data = aligned ? tensor.data : new Uint8Array(tensor.data)
  return views[dtype](data.buffer, data.byteOffset, data.byteLength / elementBytes)
}

/**
 * The elements of an F32, BF16 or F16 tensor as float32: exact; a copy where they must be widened.
 *
 * @throws  Failure `invalid`: the tensor has another type
 */
export function float32Elements(tensor: Tensor): Float32Array {
  if (tensor.dtype === 'F32') return elements(tensor, 'F32')
  if (tensor.dtype === 'BF16') return bfloat16ToFloat32(elements(tensor, 'BF16'))
  if (tensor.dtype === 'F16') return float16ToFloat32(elements(tensor, 'F16'))
  throw wrongType(tensor, 'F32, BF16 or F16')
}

function wrongType({ name, dtype }: Tensor, want: string): Failure {
  const facts = `tensor=${JSON.stringify(name)}, want=${want}, found=${dtype}`
  return new Failure('invalid', `tensor has another type. ${facts}`)
}
