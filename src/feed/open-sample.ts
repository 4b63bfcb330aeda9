/**
 * A sample's bytes, proved before anything learns from them: that they are those that were stored,
 * that they are of this run's shape, of the token ids they are stored under, and numbers.
 */
import { crc32 } from 'node:zlib'
import { contentHash } from '../dataset/fingerprint.ts'
import { isFailure } from '../failure.ts'
import type { ManifestEntry } from '../manifest/entry.ts'
import { readSafetensors } from '../safetensors/read.ts'
import { idsName, shapeProblem, statesName } from '../sample/shape.ts'
import { statesDType } from '../tensor/dtype.ts'
import { hasNonFinite } from '../tensor/finite.ts'
import { elements, type Tensor } from '../tensor/tensor.ts'
import type { StatesFormat } from './training-batch.ts'

/** Views on a sample's bytes, which are good. */
export interface SampleData {
  /** [tokens] */
  readonly ids: BigInt64Array
  /** [tokens, captures, hidden], little-endian. */
  readonly states: Uint8Array
}

/** Why a sample is not used. */
export interface Unfit {
  readonly unfit: string
}

export const isUnfit = (found: object): found is Unfit => 'unfit' in found

export function openSample(
  bytes: Uint8Array,
  entry: ManifestEntry,
  format: StatesFormat,
): SampleData | Unfit {
  if (bytes.length !== entry.length) {
    return { unfit: `bytes: want=${entry.length}, found=${bytes.length}` }
  }
  const crc = crc32(bytes)
  if (crc !== entry.crc32) return { unfit: `crc32: want=${entry.crc32}, found=${crc}` }
  const tensors = tensorsOf(bytes, entry.hash)
  if (typeof tensors === 'string') return { unfit: tensors }
  const problem = shapeProblem(tensors, { ...format, tokens: entry.tokens })
  const [states, ids] = [tensors.get(statesName), tensors.get(idsName)]
  if (problem !== null || !states || !ids) return { unfit: problem ?? 'a tensor is missing' }
  const wide = elements(ids, 'I64')
  const narrow = Int32Array.from(wide, Number)
  const hash = contentHash(narrow).toString('hex')
  if (hash !== entry.hash || wide.some((id, i) => id !== BigInt(narrow[i]))) {
    return { unfit: `hash of its token ids: want=${entry.hash}, found=${hash}` }
  }
  if (hasNonFinite(states.data, statesDType[format.dtype])) {
    return { unfit: 'values that are NaN or infinite' }
  }
  return { ids: wide, states: states.data }
}

function tensorsOf(bytes: Uint8Array, name: string): ReadonlyMap<string, Tensor> | string {
  try {
    return readSafetensors(bytes, name).tensors
  } catch (error) {
    if (isFailure(error, 'corrupt')) return error.message
    throw error
  }
}
