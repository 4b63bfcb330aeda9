/**
 * Sample files that were made before this run, by this project or another. vLLM's `speculators`
 * writes the same two tensors, without metadata: `hidden_states` [tokens, layers, hidden] in the
 * model's type, and `token_ids` int64 [tokens]; the last of its layers is taken before the final
 * norm.
 *
 * @source  speculators c05b95b, `src/speculators/train/data.py` and `data_generation/offline.py`
 */
import { explain, Failure, isFailure } from '../failure.ts'
import { openSafetensors, readTensor, type SafetensorsFile } from '../safetensors/read.ts'
import { statesDType } from '../tensor/dtype.ts'
import { elements, type Tensor } from '../tensor/tensor.ts'
import type { SampleFormat } from './encode.ts'
import { nonFinite, nonFiniteText } from './finite.ts'

/** Why a file is left alone. */
export type LeftReason =
  | 'it cannot be read'
  | 'no hidden states and token ids inside'
  | 'another type of numbers'
  | 'another shape'
  | 'of another target'
  | 'of other captures'
  | 'no usable row has its token ids'
  | 'values that are NaN or infinite'

/** A file that is not taken, and what was found in it. */
export interface Left {
  readonly left: LeftReason
  readonly facts: string
}

export const isLeft = (found: object): found is Left => 'left' in found

/** A file that says nothing against its being of this run; its states are not read yet. */
export interface Candidate {
  readonly file: SafetensorsFile
  /** int32 [tokens] */
  readonly ids: Int32Array<ArrayBuffer>
}

export interface Expected {
  readonly format: SampleFormat
  /** Rows that are longer are no use: nobody reads their ids. */
  readonly maxTokens: number
}

const left = (reason: LeftReason, facts: string): Left => ({ left: reason, facts })

/** Looks at the header, and reads the token ids where it is as expected. */
export async function examine(path: string, expected: Expected): Promise<Candidate | Left> {
  return await readable(async () => {
    const file = await openSafetensors(path)
    const fault = headerFault(file, expected)
    if (fault) return fault
    const ids = int32Of(await readTensor(file, 'token_ids'))
    return ids ? { file, ids } : left('no usable row has its token ids', 'ids beyond int32')
  })
}

/** @returns  the hidden states' bytes, in memory of their own */
export async function readStates(
  { file }: Candidate,
  { captures, dtype, hidden }: SampleFormat,
): Promise<{ readonly states: Uint8Array } | Left> {
  return await readable(async () => {
    const tensor = await readTensor(file, 'hidden_states')
    const values = dtype === 'f32' ? elements(tensor, 'F32') : elements(tensor, statesDType[dtype])
    const bad = nonFinite(values, { layers: captures.length, hidden }, dtype)
    if (bad) return left('values that are NaN or infinite', nonFiniteText(bad, captures))
    return { states: tensor.data }
  })
}

/** What cannot be read is left alone like what proves nothing: others may still be taken. */
async function readable<T>(work: () => Promise<T>): Promise<T | Left> {
  try {
    return await work()
  } catch (error) {
    if (!isFailure(error)) throw error
    // Of too many open files no single one is to blame.
    const code = error.cause instanceof Error && 'code' in error.cause ? error.cause.code : ''
    if (code === 'EMFILE' || code === 'ENFILE') {
      throw new Failure('unavailable', 'too many files are open', { cause: error })
    }
    return left('it cannot be read', explain(error))
  }
}

function headerFault(file: SafetensorsFile, { format, maxTokens }: Expected): Left | undefined {
  const states = file.tensors.get('hidden_states')
  const ids = file.tensors.get('token_ids')
  if (!states || !ids) {
    const names = [...file.tensors.keys()].slice(0, 5).join(', ')
    return left('no hidden states and token ids inside', `tensors: ${names || 'none'}`)
  }
  const metadata = metadataFault(file.metadata, format)
  if (metadata) return metadata
  const { captures, dtype, hidden } = format
  if (states.dtype !== statesDType[dtype]) {
    const facts = `hidden_states: want=${statesDType[dtype]}, found=${states.dtype}`
    return left('another type of numbers', facts)
  }
  const [tokens = 0] = states.shape
  const want = [tokens, captures.length, hidden]
  if (states.shape.join() !== want.join()) {
    const facts = `want=[tokens, ${captures.length}, ${hidden}], found=[${states.shape.join(', ')}]`
    return left('another shape', `hidden_states: ${facts}`)
  }
  if (ids.shape.join() !== `${tokens}` || (ids.dtype !== 'I64' && ids.dtype !== 'I32')) {
    const facts = `want=I64 [${tokens}], found=${ids.dtype} [${ids.shape.join(', ')}]`
    return left('another shape', `token_ids: ${facts}`)
  }
  if (tokens >= 1 && tokens <= maxTokens) return undefined
  return left('no usable row has its token ids', `want=1 to ${maxTokens} tokens, found=${tokens}`)
}

/** A file may say whose it is; one that does not must not need to. */
function metadataFault(
  metadata: ReadonlyMap<string, string>,
  format: SampleFormat,
): Left | undefined {
  const differs = (key: string): string | undefined => {
    const [want, found] = [format.metadata[key], metadata.get(key)]
    return found === undefined || found === want ? undefined : `want=${want}, found=${found}`
  }
  const target = differs('target')
  if (target !== undefined) return left('of another target', target)
  const captures = differs('captures')
  if (captures !== undefined) return left('of other captures', captures)
  // Of the same shape, the last state before the final norm cannot be told from the one after it.
  if (format.captures.at(-1) !== 'final' || metadata.has('captures')) return undefined
  return left('of other captures', 'it does not say whether its last is after the final norm')
}

/** Undefined where an id is no int32. */
function int32Of(tensor: Tensor): Int32Array<ArrayBuffer> | undefined {
  if (tensor.dtype === 'I32') return Int32Array.from(elements(tensor, 'I32'))
  const wide = elements(tensor, 'I64')
  const ids = Int32Array.from(wide, Number)
  return wide.every((id, i) => BigInt(ids[i]) === id) ? ids : undefined
}
