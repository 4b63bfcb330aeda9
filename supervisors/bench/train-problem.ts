import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { seededRandom } from '../../src/clock.ts'
import type { DrafterConfig } from '../../src/models/drafter-config.ts'
import { drafterTensors, initialDrafter } from '../../src/models/drafter-tensors.ts'
import { frozenNames } from '../../src/models/frozen.ts'
import { spread } from '../../src/models/spread.ts'
import { encodeSafetensors, type TensorToWrite } from '../../src/safetensors/write.ts'
import type { BatchShape } from '../../src/training/block-rows.ts'
import { type Blocks, drawBlocks, layBlocks, normalizeWeights } from '../../src/training/blocks.ts'
import type { LearningBatch, LearningOptions } from '../../src/training/learner.ts'

/** One training step, as a file that both sides of `bench train` read. */

export interface TrainSize {
  readonly name: string
  readonly shape: BatchShape
  readonly drafter: Pick<
    DrafterConfig,
    | 'layers'
    | 'hiddenSize'
    | 'intermediateSize'
    | 'vocabSize'
    | 'heads'
    | 'kvHeads'
    | 'headDim'
    | 'blockSize'
  >
}

/** problem.json; problem.safetensors holds parameters, the target's embedding and the batch. */
export interface Problem {
  readonly config: DrafterConfig
  readonly shape: BatchShape
  readonly threads: number
  readonly lr: number
  readonly options: LearningOptions
}

const proportions = { layers: 5, vocabSize: 32_768, headDim: 64, blockSize: 16 }

/** A drafter for a target of about half a billion parameters, and one that fits a small machine. */
export const trainSizes: readonly TrainSize[] = [
  {
    name: '5 M',
    shape: { rows: 4, tokens: 256, blocks: 32 },
    drafter: { ...proportions, hiddenSize: 256, intermediateSize: 960, heads: 4, kvHeads: 2 },
  },
  {
    name: '60 M',
    shape: { rows: 2, tokens: 256, blocks: 16 },
    drafter: { ...proportions, hiddenSize: 1024, intermediateSize: 2560, heads: 16, kvHeads: 8 },
  },
]

export function problemOf({ shape, drafter }: TrainSize, threads: number): Problem {
  const config: DrafterConfig = {
    ...drafter,
    rmsNormEps: 1e-6,
    rope: { theta: 1e6 },
    maxPositions: 32_768,
    maskTokenId: drafter.vocabSize - 1,
    targetLayerIds: [1, 9, 17, 25, 33],
    targetLayers: 36,
    layerTypes: new Array<'full_attention'>(drafter.layers).fill('full_attention'),
    slidingWindow: null,
    draftVocabSize: null,
  }
  const options: LearningOptions = {
    seed: 0,
    anchors: shape.blocks,
    anchorRule: 'next-supervised',
    gamma: 7,
    normalize: 'step',
    distillation: null,
    optimizer: {
      betas: [0.9, 0.999],
      epsilon: 1e-8,
      weightDecay: 0.01,
      clip: 1,
      decayExclude: [],
    },
    chunkBytes: 32 * 2 ** 20,
    recompute: false,
  }
  return { config, shape, threads, lr: 6e-4, options }
}

/** All supervised; its blocks are drawn by seed and plan number, so they are always the same. */
export function batchOf(
  { shape: { rows, tokens } }: Problem,
  { tokenIds, hidden }: { readonly tokenIds: BigInt64Array; readonly hidden: Float32Array },
): LearningBatch {
  return {
    plan: 0,
    shape: { rows, tokens },
    rows: Array.from({ length: rows }, () => ({ tokens })),
    tokenIds,
    lossMask: new Uint8Array(rows * tokens).fill(1),
    hidden,
    dtype: 'f32',
  }
}

/** @returns  how many parameters are trained */
export async function writeProblem(folder: string, problem: Problem): Promise<number> {
  const parameters = initialDrafter(problem.config, 0)
  const tensors = [
    ...drafterTensors(problem.config).map(({ name, shape }) =>
      tensor(name, shape, parameters.get(name) ?? new Float32Array()),
    ),
    ...batchTensors(problem),
  ]
  await writeFile(join(folder, 'problem.safetensors'), Buffer.concat(encodeSafetensors(tensors)))
  await writeFile(join(folder, 'problem.json'), JSON.stringify(problem))
  return [...parameters.values()].reduce((sum, { length }) => sum + length, 0)
}

function batchTensors(problem: Problem): TensorToWrite[] {
  const random = seededRandom(1)
  const { rows, tokens, blocks } = problem.shape
  const { vocabSize, hiddenSize, blockSize, targetLayerIds } = problem.config
  const count = rows * tokens
  const width = targetLayerIds.length * hiddenSize
  const table = spread(random, vocabSize * hiddenSize, 0.02)
  const hidden = spread(random, count * width, 1)
  const id = () => BigInt(Math.floor(random() * vocabSize))
  const tokenIds = BigInt64Array.from({ length: count }, id)
  const laid = laidBlocks(problem, batchOf(problem, { tokenIds, hidden }))
  return [
    tensor(frozenNames(true).embedding, [vocabSize, hiddenSize], table),
    tensor('token_ids', [rows, tokens], tokenIds),
    tensor('hidden', [rows, tokens, width], hidden),
    tensor('anchors', [rows, blocks], laid.anchors),
    tensor('labels', [rows, blocks, blockSize], laid.labels),
    tensor('weights', [rows, blocks, blockSize], laid.weights),
  ]
}

/** What the learner makes of the batch, for the side that has no such thing. */
function laidBlocks({ config, shape, options }: Problem, batch: LearningBatch): Blocks {
  const { blockSize } = config
  const { anchors, gamma, seed } = options
  const how = { rule: options.anchorRule, blockSize, anchors, gamma }
  const drawn = drawBlocks(batch, how, { seed, plan: batch.plan })
  const laid = layBlocks(batch, drawn, { ...how, blocks: shape.blocks, draftVocab: null })
  normalizeWeights([laid], options.normalize)
  return laid
}

const tensor = (
  name: string,
  shape: readonly number[],
  data: Float32Array | BigInt64Array,
): TensorToWrite => ({
  name,
  dtype: data instanceof Float32Array ? 'F32' : 'I64',
  shape,
  data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
})
