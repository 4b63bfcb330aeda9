/** The training vectors of test/golden/dflash: a batch, its anchors, and all that follows. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { type DrafterConfig, parseDrafterConfig } from '../../../src/models/drafter-config.ts'
import { readSafetensors, type Safetensors } from '../../../src/safetensors/read.ts'
import { elements } from '../../../src/tensor/tensor.ts'
import type { SampleTokens } from '../../../src/training/blocks.ts'
import { golden, goldenJson } from '../golden.ts'

const expectedSchema = z.object({
  drafter: z.string(),
  gamma: z.number().nullable(),
  block_size: z.int(),
  loss: z.number(),
  accuracy: z.number(),
  loss_numerator: z.number(),
  loss_denominator: z.number(),
  grad_norm: z.number(),
  specforge_accept_len_per_block: z.array(z.array(z.number())),
})

export interface TrainingCase {
  readonly name: string
  readonly file: Safetensors
  readonly expected: z.infer<typeof expectedSchema>
  readonly config: DrafterConfig
  readonly batch: SampleTokens
  /** Of each row: those that are kept. */
  readonly drawn: readonly (readonly number[])[]
  /** Blocks a row. */
  readonly blocks: number
  /** [rows, tokens, layers · hidden] */
  readonly hidden: Float32Array
}

export const caseNames = [
  'A_b8_gamma4',
  'B_b8_gamma7_padded',
  'C_b16_gamma7',
  'A_b8_sliding_gamma4',
  'D_b8_overfit_gamma7',
]

export const goldenTensors = (...parts: string[]): Safetensors => {
  const path = golden('dflash', ...parts)
  return readSafetensors(readFileSync(path), path)
}

export function tensorOf(file: Safetensors, name: string) {
  const tensor = file.tensors.get(name)
  if (!tensor) throw new Error(`no tensor ${name}`)
  return tensor
}

export const floatsOf = (file: Safetensors, name: string): Float32Array =>
  elements(tensorOf(file, name), 'F32')

export const integersOf = (file: Safetensors, name: string): BigInt64Array =>
  elements(tensorOf(file, name), 'I64')

export const drafterConfig = (name: string): DrafterConfig =>
  parseDrafterConfig(goldenJson('dflash', name, 'config.json'), `${name}/config.json`)

export function expectedOf(name: string) {
  const all = z.record(z.string(), z.unknown()).parse(goldenJson('dflash', 'expected.json'))
  return expectedSchema.parse(all[`train_${name}`])
}

export function trainingCase(name: string): TrainingCase {
  const file = goldenTensors(`train_${name}.safetensors`)
  const expected = expectedOf(name)
  const [rows, tokens] = tensorOf(file, 'input_ids').shape
  const [, blocks] = tensorOf(file, 'anchors').shape
  const anchors = Array.from(integersOf(file, 'anchors'), Number)
  const keep = elements(tensorOf(file, 'keep'), 'BOOL')
  return {
    name,
    file,
    expected,
    config: drafterConfig(expected.drafter),
    batch: {
      shape: { rows, tokens },
      rows: Array.from({ length: rows }, () => ({ tokens })),
      tokenIds: integersOf(file, 'input_ids'),
      lossMask: Uint8Array.from(floatsOf(file, 'loss_mask')),
    },
    drawn: Array.from({ length: rows }, (_, row) =>
      anchors
        .slice(row * blocks, (row + 1) * blocks)
        .filter((_, n) => keep[row * blocks + n] === 1),
    ),
    blocks,
    hidden: floatsOf(file, 'target_hidden'),
  }
}

/** A case with one of its rows alone. */
export function rowOf(all: TrainingCase, row: number): TrainingCase {
  const { rows, tokens } = all.batch.shape
  const span = (length: number) => [(row * length) / rows, ((row + 1) * length) / rows] as const
  const { tokenIds, lossMask } = all.batch
  return {
    ...all,
    batch: {
      shape: { rows: 1, tokens },
      rows: [{ tokens }],
      tokenIds: tokenIds.slice(...span(tokenIds.length)),
      lossMask: lossMask.slice(...span(lossMask.length)),
    },
    drawn: [all.drawn[row]],
    hidden: all.hidden.slice(...span(all.hidden.length)),
  }
}

/** Parameters of a case's drafter, by name. */
export function drafterOf({ expected }: TrainingCase): Record<string, Float32Array> {
  const file = goldenTensors(expected.drafter, 'model.safetensors')
  return Object.fromEntries([...file.tensors.keys()].map((name) => [name, floatsOf(file, name)]))
}
