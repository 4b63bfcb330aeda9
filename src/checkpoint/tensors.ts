/** What is trained: parameters with AdamW's two moments, and how they lie in the files. */
import { type VocabMaps, vocabTensors } from '../models/draft-vocab.ts'
import type { TensorToWrite } from '../safetensors/write.ts'
import { hasNonFinite } from '../tensor/finite.ts'
import type { TrainingProgress } from './state.ts'

/** One parameter of a training: float32, row-major, each of its three arrays as long as `shape`. */
export interface TrainedTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly value: Float32Array<ArrayBuffer>
  /** First and second moment of its gradient. */
  readonly m: Float32Array<ArrayBuffer>
  readonly v: Float32Array<ArrayBuffer>
}

/** All that a training is at a step. */
export interface TrainingState {
  readonly progress: TrainingProgress
  readonly tensors: readonly TrainedTensor[]
  /** Absent: it drafts from all of the vocabulary. */
  readonly maps?: VocabMaps
}

export type Moment = 'm' | 'v'

export const moments: readonly Moment[] = ['m', 'v']

/** In optimizer.safetensors. */
export const momentName = (moment: Moment, name: string): string => `${moment}.${name}`

export const modelTensors = (
  tensors: readonly TrainedTensor[],
  maps?: VocabMaps,
): TensorToWrite[] => [
  ...tensors.map(
    ({ name, shape, value }): TensorToWrite => ({
      ...{ name, shape, dtype: 'F32' },
      data: bytesOf(value),
    }),
  ),
  ...(maps ? vocabTensors(maps) : []),
]

/** Names of the maps that are not those, or not there; those that nobody wants, too. */
export function wrongMaps(
  found: ReadonlyMap<string, { readonly data: Uint8Array }>,
  maps: VocabMaps | undefined,
): string[] {
  const wanted = new Map(
    maps ? vocabTensors(maps).map(({ name, data }) => [name, [data].flat()]) : [],
  )
  return ['d2t', 't2d'].filter((name) => {
    const [want, is] = [wanted.get(name), found.get(name)?.data]
    return want === undefined ? is !== undefined : !is || !Buffer.concat(want).equals(is)
  })
}

export const optimizerTensors = (tensors: readonly TrainedTensor[]): TensorToWrite[] =>
  tensors.flatMap((tensor) =>
    moments.map((moment): TensorToWrite => {
      const { name, shape } = tensor
      const data = bytesOf(tensor[moment])
      return { name: momentName(moment, name), shape, dtype: 'F32', data }
    }),
  )

/**
 * Those that hold NaN or infinity, by the names they have in the files: nobody can go on from
 * them.
 */
export const nonFiniteTensors = (tensors: readonly TrainedTensor[]): string[] =>
  [...modelTensors(tensors), ...optimizerTensors(tensors)]
    .filter(({ data }) => [data].flat().some((bytes) => hasNonFinite(bytes, 'F32')))
    .map(({ name }) => name)

/** Buffers that a message may give away; of each tensor in turn. */
export const tensorBuffers = (tensors: readonly TrainedTensor[]): ArrayBuffer[] => [
  ...new Set(tensors.flatMap(({ value, m, v }) => [value.buffer, m.buffer, v.buffer])),
]

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
