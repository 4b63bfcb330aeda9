/**
 * A drafter that learns: what it is trained on is laid out here, and computed where its device
 * keeps what is trained. Knows nothing of where batches come from, nor of how long it learns.
 */
import type { Distillation } from '../autodiff/head-loss.ts'
import { Failure } from '../failure.ts'
import type { DraftVocab } from '../models/draft-vocab.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import type { AdamwSettings, Stepped } from '../optim/adamw.ts'
import type { FlatTensors } from '../optim/flat.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import type { SessionOptions } from '../session/session.ts'
import { type Acceptance, acceptanceOf, addAcceptance } from './acceptance.ts'
import type { AnchorRule } from './anchors.ts'
import {
  type Blocks,
  blocksOfShape,
  drawBlocks,
  layBlocks,
  type Normalization,
  normalizeWeights,
  type SampleTokens,
  weightOf,
} from './blocks.ts'
import type { Engine, MicroBatch, Passed, Spent } from './engine.ts'
import { HostEngine } from './host-engine.ts'
import { LoopEngine } from './loop-engine.ts'
import { ResidentEngine } from './resident-engine.ts'
import { resultsOf } from './results.ts'

/** Samples of one graph shape, with what the target computed of them. */
export interface LearningBatch extends SampleTokens {
  /** Its number in the training: blocks are drawn by it. */
  readonly plan: number
  /** [rows, tokens, layers · hidden]; bf16 and f16 as their bits. */
  readonly hidden: Uint16Array | Float32Array
  readonly dtype: StoredDType
  /** [rows, tokens, hidden], of the same type: the target's state after its last norm, if kept. */
  readonly final?: Uint16Array | Float32Array
}

export interface LearningOptions {
  readonly seed: number
  /** Blocks of a sample, at most. */
  readonly anchors: number
  readonly anchorRule: AnchorRule
  readonly gamma: number | null
  readonly normalize: Normalization
  /** Null: from the labels alone. */
  readonly distillation: Distillation | null
  readonly optimizer: AdamwSettings
  /** Logits of so many bytes are there at once, and scores of attention. */
  readonly chunkBytes: number
  /** Layers are computed again on the way back: less memory, more time. */
  readonly recompute: boolean
}

export interface LearnerParts extends SessionOptions {
  readonly drafter: DrafterConfig
  readonly tiedEmbeddings: boolean
  /** The target's embedding and head by their names in its checkpoint, float32. */
  readonly frozen: ReadonlyMap<string, Float32Array>
  /** Left out where the drafter drafts from all of the target's vocabulary. */
  readonly draftVocab?: DraftVocab
  readonly options: LearningOptions
  /**
   * What applies a step. Left out: what is right for the device, which is WebAssembly on cpu, a
   * graph on webgpu, and on cuda a loop over the step's batches within one graph.
   */
  readonly by?: 'wasm' | 'graph' | 'loop'
}

/** What batches gave; the loss is Σ weight · cross-entropy over the weights' sum. */
export interface Learnt {
  readonly loss: number
  readonly acceptance: Acceptance
}

export class Learner {
  readonly #parts: LearnerParts
  readonly #engine: Engine
  #stepsMs = 0

  constructor(parts: LearnerParts) {
    this.#parts = parts
    this.#engine = engineFor(parts)
  }

  /**
   * Parameters and moments, as the last `read` found them; on cpu as they are. Written before the
   * first step; later on, `updates` is to be set after it.
   */
  get tensors(): FlatTensors {
    return this.#engine.tensors
  }

  /** How many updates were applied; and, where a training goes on, how many before. */
  get updates(): number {
    return this.#engine.updates
  }

  set updates(count: number) {
    this.#engine.updates = count
  }

  /** Of steps, since the start: all that they took, and what the engine tells of it. */
  get spent(): Spent & { readonly stepsMs: number } {
    return { stepsMs: this.#stepsMs, ...this.#engine.spent }
  }

  /**
   * One optimizer step over all the batches together. Where loss or gradient is not finite nothing
   * changes.
   *
   * @param passed  told how far it is, where its device computes one batch after the other
   * @returns  undefined: nothing in them is supervised, as where a draft vocabulary has none of
   *           their tokens; nothing changes then
   */
  async step(
    batches: readonly LearningBatch[],
    lr: number,
    passed: Passed = () => undefined,
  ): Promise<(Learnt & Stepped) | undefined> {
    const started = performance.now()
    try {
      return await this.#step(batches, lr, passed)
    } finally {
      this.#stepsMs += performance.now() - started
    }
  }

  /**
   * The same of batches that are not learnt from. They may come one by one: none is held after it
   * was looked at.
   *
   * @returns  undefined: nothing in them is supervised
   */
  async judge(
    batches: Iterable<LearningBatch> | AsyncIterable<LearningBatch>,
  ): Promise<Learnt | undefined> {
    const parts: Learnt[] = []
    let weight = 0
    for await (const batch of batches) {
      const blocks = this.#lay(batch)
      weight += weightOf([blocks])
      const micro = this.#microBatch(batch, blocks)
      await this.#engine.judge(micro)
      parts.push(learntOf(micro, blocks))
    }
    if (weight === 0) return undefined
    const { acceptance, loss } = together(parts)
    return { acceptance, loss: loss / weight }
  }

  /** Brings `tensors` up to date, as of the end of the last whole step. */
  async read(): Promise<void> {
    await this.#engine.read()
  }

  async release(): Promise<void> {
    await this.#engine.release()
  }

  async #step(
    batches: readonly LearningBatch[],
    lr: number,
    passed: Passed,
  ): Promise<(Learnt & Stepped) | undefined> {
    const laid = batches.map((batch) => this.#lay(batch))
    if (weightOf(laid) === 0) return undefined
    normalizeWeights(laid, this.#parts.options.normalize)
    const micro = batches.map((batch, i) => this.#microBatch(batch, laid[i]))
    const stepped = await this.#engine.step(micro, lr, passed)
    return { ...together(micro.map((batch, i) => learntOf(batch, laid[i]))), ...stepped }
  }

  #lay(batch: LearningBatch): Blocks {
    const { drafter, options } = this.#parts
    const { anchors, anchorRule: rule, gamma, seed } = options
    const { blockSize } = drafter
    const drawn = drawBlocks(batch, { rule, blockSize, anchors }, { seed, plan: batch.plan })
    const blocks = blocksOfShape(drawn, anchors)
    const draftVocab = this.#parts.draftVocab ?? null
    return layBlocks(batch, drawn, { blocks, blockSize, gamma, draftVocab })
  }

  #microBatch(batch: LearningBatch, blocks: Blocks): MicroBatch {
    const { rows, tokens } = batch.shape
    return {
      shape: { rows, tokens, blocks: blocks.shape.blocks },
      dtype: batch.dtype,
      feeds: this.#feeds(batch, blocks),
      results: resultsOf(blocks, this.#parts.options.distillation),
    }
  }

  #feeds(batch: LearningBatch, blocks: Blocks): Feeds {
    const { drafter } = this.#parts
    const { rows, tokens } = batch.shape
    const { blocks: count, size } = blocks.shape
    const width = drafter.targetLayerIds.length * drafter.hiddenSize
    return {
      hidden: statesOf(batch.hidden, [rows, tokens, width]),
      ...this.#taught(batch),
      anchors: { dtype: 'I64', shape: [rows, count], data: blocks.anchors },
      labels: { dtype: 'I64', shape: [rows, count, size], data: blocks.labels },
      weights: { dtype: 'F32', shape: [rows, count, size], data: blocks.weights },
    }
  }

  #taught({ final, shape, plan }: LearningBatch): Feeds {
    const { drafter, options } = this.#parts
    if (options.distillation === null) return {}
    const { rows, tokens } = shape
    if (final) return { final: statesOf(final, [rows, tokens, drafter.hiddenSize]) }
    throw new Failure('invalid', `a batch lacks what distillation learns from. plan=${plan}`, {
      remedy: 'Extract with target.captureFinal, or set train.distill.weight to 0.',
    })
  }
}

const statesOf = (data: Uint16Array | Float32Array, shape: readonly number[]): Feed =>
  data instanceof Float32Array ? { dtype: 'F32', shape, data } : { dtype: 'U16', shape, data }

const learntOf = ({ results }: MicroBatch, blocks: Blocks): Learnt => ({
  loss: results.loss.data[0],
  acceptance: acceptanceOf(blocks, results.correct.data),
})

const together = (parts: readonly Learnt[]): Learnt => ({
  loss: parts.reduce((sum, { loss }) => sum + loss, 0),
  acceptance: parts.map(({ acceptance }) => acceptance).reduce(addAcceptance),
})

function engineFor(parts: LearnerParts): Engine {
  const { by = appliedBy(parts.device) } = parts
  if (by === 'graph') return new ResidentEngine(parts)
  return by === 'loop' ? new LoopEngine(parts) : new HostEngine(parts)
}

function appliedBy(device: string): 'wasm' | 'graph' | 'loop' {
  if (device === 'webgpu') return 'graph'
  return device === 'cpu' ? 'wasm' : 'loop'
}
