/**
 * A drafter as z-lab publishes one: config.json and model.safetensors, which its own code, vLLM and
 * SGLang read.
 *
 * @source  z-lab/dflash 44947fb, `model.py`; vLLM 036a00d, `qwen3_dflash.py`, `eagle3_utils.py`;
 *          SGLang 00731f0, `dflash_utils.py`, and 003b23d, `models/dflash.py`
 */
import { Failure } from '../failure.ts'
import { type DraftVocab, vocabTensors } from '../models/draft-vocab.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterConfigJson } from '../models/drafter-config-json.ts'
import { draftHead, requireTensors } from '../models/drafter-tensors.ts'
import type { TensorToWrite } from '../safetensors/write.ts'
import { float32ToBfloat16 } from '../tensor/bfloat16.ts'
import { hasNonFinite } from '../tensor/finite.ts'
import { drafterFiles } from './drafter-files.ts'
import type { FileToWrite } from './folder.ts'

export type WeightType = 'bf16' | 'f32'

/** One parameter as it was trained. */
export interface TrainedParameter {
  readonly name: string
  readonly shape: readonly number[]
  readonly values: Float32Array
}

export interface DrafterToExport {
  readonly config: DrafterConfig
  readonly tensors: readonly TrainedParameter[]
  /** Null: it drafts from all of the target's vocabulary. */
  readonly draftVocab: DraftVocab | null
  /** With a draft vocabulary: its rows of the target's head, [drafted, hidden], where at hand. */
  readonly head: Float32Array | null
  /** For messages: the checkpoint or the folder that it is from. */
  readonly from: string
}

/**
 * @param card  README.md
 * @throws      Failure `invalid`: tensors are missing, left over or of another shape, or hold what
 *              is no number in the type that is written; all of them are named
 */
export function zlabFiles(
  drafter: DrafterToExport,
  { dtype, card }: { readonly dtype: WeightType; readonly card: string },
): FileToWrite[] {
  const { config, from } = drafter
  const floats = [...drafter.tensors, ...headOf(drafter)].map((tensor) => encoded(tensor, dtype))
  const written = [
    ...floats,
    ...(drafter.draftVocab ? vocabTensors(drafter.draftVocab.maps()) : []),
  ]
  requireTensors(config, new Map(written.map((tensor) => [tensor.name, tensor])), from)
  requireFinite(floats, { dtype, from })
  return [
    { name: 'README.md', parts: [Buffer.from(card)] },
    ...drafterFiles(zlabConfig(config, dtype), written),
  ]
}

/**
 * z-lab's code looks for the block's size at the top, newer checkpoints have it in `dflash_config`,
 * where SGLang looks first: it stands in both. vLLM takes it from its command line.
 */
function zlabConfig(config: DrafterConfig, dtype: WeightType): object {
  const { dflash_config, ...rest } = drafterConfigJson(
    config,
    dtype === 'bf16' ? 'bfloat16' : 'float32',
  )
  const whole = { ...rest, dflash_config: { block_size: config.blockSize, ...dflash_config } }
  return Object.fromEntries(Object.entries(whole).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** vLLM takes a drafter's own head for one of its vocabulary, and cuts no other. */
function headOf({ config, head }: DrafterToExport): TrainedParameter[] {
  const { draftVocabSize, hiddenSize } = config
  if (head === null || draftVocabSize === null) return []
  return [{ name: draftHead, shape: [draftVocabSize, hiddenSize], values: head }]
}

/** bf16 is rounded to nearest, ties to even. */
function encoded({ name, shape, values }: TrainedParameter, dtype: WeightType): TensorToWrite {
  const rounded = dtype === 'bf16' ? float32ToBfloat16(values) : values
  const data = new Uint8Array(rounded.buffer, rounded.byteOffset, rounded.byteLength)
  return { name, shape, dtype: dtype === 'bf16' ? 'BF16' : 'F32', data }
}

function requireFinite(
  tensors: readonly TensorToWrite[],
  { dtype, from }: { readonly dtype: WeightType; readonly from: string },
): void {
  const type = dtype === 'bf16' ? 'BF16' : 'F32'
  const bad = tensors.filter(({ data }) => [data].flat().some((part) => hasNonFinite(part, type)))
  if (bad.length === 0) return
  const facts = `from=${from}, dtype=${dtype}, tensors=${bad.map(({ name }) => name).join(', ')}`
  throw new Failure('invalid', `the drafter holds NaN or infinity. ${facts}`, {
    remedy: 'Export an earlier checkpoint; what is finite in float32 alone, with --dtype f32.',
  })
}
