/**
 * What a drafter is trained on: blocks of a batch's samples, the label and weight of each slot.
 * Plain numbers; the graph that learns from them is loss-graph.ts's.
 */
import { Failure } from '../failure.ts'
import type { DraftVocab } from '../models/draft-vocab.ts'
import { type AnchorOptions, drawAnchors, eligibleAnchors, randomOfRow } from './anchors.ts'

/** Of a batch of samples, padded on the right, what blocks are made of. */
export interface SampleTokens {
  readonly shape: { readonly rows: number; readonly tokens: number }
  /** Those that are samples; the rest of the shape is padding. */
  readonly rows: readonly { readonly tokens: number }[]
  /** [rows, tokens] */
  readonly tokenIds: BigInt64Array
  /** [rows, tokens]; 1 where supervised, 0 at padding. */
  readonly lossMask: Uint8Array
}

/** How blocks are drawn. */
export interface BlockOptions extends AnchorOptions {
  /** At most so many blocks a sample. */
  readonly anchors: number
}

/** Row-major. Slots and blocks that are not trained have weight 0, whatever else stands there. */
export interface Blocks {
  readonly shape: { readonly rows: number; readonly blocks: number; readonly size: number }
  /** [rows, blocks]: positions in the sample; 0 where no block is. */
  readonly anchors: BigInt64Array
  /** [rows, blocks]: 1 where a block is. */
  readonly keep: Uint8Array
  /**
   * [rows, blocks, size]: the token at each slot's own position; with a draft vocabulary its draft
   * id, 0 where it has none, but for slot 0, which is the anchor as it is.
   */
  readonly labels: BigInt64Array
  /** [rows, blocks, size] */
  readonly weights: Float32Array
  /**
   * [rows, blocks, size]: 1 where the drafter is to be right, though its vocabulary lack the token.
   */
  readonly supervised: Uint8Array
}

/** How blocks are laid, beside where. */
export interface Laying {
  /** A sample's, at least as many as were drawn. */
  readonly blocks: number
  readonly blockSize: number
  /** Slot k weighs exp(−(k − 1) / gamma); null: all weigh the same. */
  readonly gamma: number | null
  /** Null: all of the target's vocabulary can be drafted. */
  readonly draftVocab: DraftVocab | null
}

/** The anchors of each sample, drawn by chance that depends on seed, plan number and row alone. */
export function drawBlocks(
  batch: SampleTokens,
  options: BlockOptions,
  at: { readonly seed: number; readonly plan: number },
): number[][] {
  return batch.rows.map(({ tokens }, row) => {
    const from = row * batch.shape.tokens
    const eligible = eligibleAnchors(batch.lossMask.subarray(from, from + tokens), options)
    return drawAnchors(eligible, options.anchors, randomOfRow({ ...at, row }))
  })
}

/**
 * How many blocks a sample the graph of a batch has: the next power of two, so that few graphs
 * serve all batches.
 */
export function blocksOfShape(drawn: readonly (readonly number[])[], anchors: number): number {
  const most = Math.max(1, ...drawn.map((positions) => positions.length))
  return Math.min(anchors, 2 ** Math.ceil(Math.log2(most)))
}

/** @param drawn  the anchors of each sample */
export function layBlocks(
  batch: SampleTokens,
  drawn: readonly (readonly number[])[],
  { blocks, blockSize: size, gamma, draftVocab }: Laying,
): Blocks {
  const { rows, tokens } = batch.shape
  const slots = rows * blocks * size
  const made: Blocks = {
    shape: { rows, blocks, size },
    anchors: new BigInt64Array(rows * blocks),
    keep: new Uint8Array(rows * blocks),
    labels: new BigInt64Array(slots),
    weights: new Float32Array(slots),
    supervised: new Uint8Array(slots),
  }
  const decay = slotDecay(size, gamma)
  for (let block = 0; block < rows * blocks; block++) {
    const row = Math.floor(block / blocks)
    const anchor = drawn[row]?.[block % blocks]
    if (anchor !== undefined) {
      made.anchors[block] = BigInt(anchor)
      made.keep[block] = 1
    }
    for (let k = 0; k < size; k++) {
      const position = (anchor ?? 0) + k
      const at = row * tokens + Math.min(position, tokens - 1)
      const id = batch.tokenIds[at]
      const label = k === 0 || draftVocab === null ? id : BigInt(draftVocab.placeOf(Number(id)))
      const slot = block * size + k
      made.labels[slot] = label < 0 ? 0n : label
      const isInside = anchor !== undefined && position < tokens
      if (!isInside || k === 0 || batch.lossMask[at] !== 1) continue
      made.supervised[slot] = 1
      if (label >= 0) made.weights[slot] = decay[k]
    }
  }
  return made
}

/** Slot 0 holds the anchor itself, which is known: it is never trained. */
const slotDecay = (size: number, gamma: number | null): number[] =>
  Array.from({ length: size }, (_, k) =>
    k === 0 ? 0 : gamma === null ? 1 : Math.exp(-(k - 1) / gamma),
  )

/**
 * What the weighted cross-entropy is divided by: `step`, the weights of the whole optimiser step
 * (SpecForge); `batch`, those of each batch, of which the mean is taken (TorchSpec); `supervised`,
 * the supervised slots of the step, decay or not (speculators).
 */
export type Normalization = 'step' | 'batch' | 'supervised'

/**
 * Divides all weights of one optimiser step, so that gradients of its batches simply add up, and
 * so do their losses.
 *
 * @param step  the blocks of each batch; their weights are changed
 * @throws      Failure `invalid`: nothing in the step is supervised
 */
export function normalizeWeights(step: readonly Blocks[], normalization: Normalization): void {
  const sums = step.map(({ weights }) => sum(weights))
  const total = weightOf(step)
  if (total === 0) {
    throw new Failure('invalid', `no supervised slot in a step. batches=${step.length}`, {
      remedy: 'See that the dataset’s loss mask marks the tokens that the target answered with.',
    })
  }
  const supervised = step.reduce((all, { weights }) => all + weights.filter(isPositive).length, 0)
  step.forEach(({ weights }, i) => {
    const by = {
      step: total,
      batch: (sums[i] + 1e-6) * step.length,
      supervised: supervised + 1e-5,
    }[normalization]
    for (let slot = 0; slot < weights.length; slot++) weights[slot] /= by
  })
}

/** The weights of all slots together; 0 where nothing is supervised. */
export const weightOf = (step: readonly Blocks[]): number =>
  step.reduce((all, { weights }) => all + sum(weights), 0)

const isPositive = (weight: number): boolean => weight > 0

function sum(weights: Float32Array): number {
  let all = 0
  for (const weight of weights) all += weight
  return all
}
