/**
 * A drafter that learns: parameters, moments and gradients in one memory, a graph for each shape of
 * batch, and the optimizer. Knows nothing of where batches come from, nor of how long it learns.
 */
import type { Distillation } from '../autodiff/head-loss.ts'
import { Failure } from '../failure.ts'
import type { DraftVocab } from '../models/draft-vocab.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterTensors } from '../models/drafter-tensors.ts'
import { frozenNames } from '../models/frozen.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import { Adamw, type AdamwSettings, type Stepped } from '../optim/adamw.ts'
import { FlatTensors, type Region } from '../optim/flat.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import type { SessionOptions } from '../session/session.ts'
import { type Acceptance, acceptanceOf, addAcceptance } from './acceptance.ts'
import type { AnchorRule } from './anchors.ts'
import type { BatchShape } from './block-rows.ts'
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
import { GraphsByShape } from './graphs-by-shape.ts'
import { draftHeadName, gradientName } from './loss-graph.ts'

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
}

/** What batches gave; the loss is Σ weight · cross-entropy over the weights' sum. */
export interface Learnt {
  readonly loss: number
  readonly acceptance: Acceptance
}

export class Learner {
  readonly tensors: FlatTensors
  readonly #parts: LearnerParts
  readonly #frozen: Feeds
  readonly #graphs: GraphsByShape
  #optimizer: Adamw

  constructor(parts: LearnerParts) {
    this.#parts = parts
    this.#frozen = frozenOf(parts)
    this.tensors = new FlatTensors(drafterTensors(parts.drafter))
    this.#optimizer = new Adamw(this.tensors, parts.options.optimizer)
    this.#graphs = new GraphsByShape(parts)
  }

  /** How many updates were applied; and, where a training goes on, how many before. */
  get updates(): number {
    return this.#optimizer.steps
  }

  set updates(count: number) {
    this.#optimizer = new Adamw(this.tensors, this.#parts.options.optimizer, count)
  }

  /** Milliseconds inside onnxruntime, since the start. */
  get insideMs(): number {
    return this.#graphs.insideMs
  }

  /**
   * One optimizer step over all the batches together. Where loss or gradient is not finite nothing
   * changes.
   *
   * @returns  undefined: nothing in them is supervised, as where a draft vocabulary has none of
   *           their tokens; nothing changes then
   */
  async step(
    batches: readonly LearningBatch[],
    lr: number,
  ): Promise<(Learnt & Stepped) | undefined> {
    const laid = batches.map((batch) => this.#lay(batch))
    if (weightOf(laid) === 0) return undefined
    normalizeWeights(laid, this.#parts.options.normalize)
    const parts: Learnt[] = []
    for (const [i, batch] of batches.entries()) {
      parts.push(await this.#run(batch, laid[i], i === 0 ? 'gradients' : 'addends'))
      if (i > 0) this.#optimizer.accumulate()
    }
    const learnt = together(parts)
    return { ...learnt, ...this.#optimizer.step({ lr, loss: learnt.loss }) }
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
      parts.push(await this.#run(batch, blocks, null))
    }
    if (weight === 0) return undefined
    const { acceptance, loss } = together(parts)
    return { acceptance, loss: loss / weight }
  }

  async release(): Promise<void> {
    await this.#graphs.release()
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

  async #run(batch: LearningBatch, blocks: Blocks, into: Region | null): Promise<Learnt> {
    const { rows, tokens } = batch.shape
    const shape: BatchShape = { rows, tokens, blocks: blocks.shape.blocks }
    const graph = await this.#graphs.of({ shape, dtype: batch.dtype, learns: into !== null })
    const results = resultsOf(blocks, this.#parts.options.distillation)
    await graph.run(this.#inputs(batch, blocks), { ...results, ...this.#gradients(into) })
    return {
      loss: Number(results.loss.data[0]),
      acceptance: acceptanceOf(blocks, results.correct.data),
    }
  }

  #inputs(batch: LearningBatch, blocks: Blocks): Feeds {
    const { drafter } = this.#parts
    const { rows, tokens } = batch.shape
    const { blocks: count, size } = blocks.shape
    const width = drafter.targetLayerIds.length * drafter.hiddenSize
    return {
      ...this.#tensorsIn('parameters', (name) => name),
      ...this.#frozen,
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

  #gradients(into: Region | null): Feeds {
    return into === null ? {} : this.#tensorsIn(into, gradientName)
  }

  #tensorsIn(region: Region, nameOf: (tensor: string) => string): Feeds {
    const tensors = drafterTensors(this.#parts.drafter)
    return Object.fromEntries(
      tensors.map(({ name, shape }) => [
        nameOf(name),
        { dtype: 'F32', shape, data: this.tensors.view(region, name) },
      ]),
    )
  }
}

function resultsOf({ shape: { rows, blocks, size } }: Blocks, distillation: Distillation | null) {
  const slots = [rows, blocks, size - 1]
  const count = rows * blocks * (size - 1)
  const floats = (shape: readonly number[], length: number) =>
    ({ dtype: 'F32', shape, data: new Float32Array(length) }) as const
  return {
    loss: floats([], 1),
    cross_entropy: floats(slots, count),
    correct: floats(slots, count),
    ...(distillation && { divergence: floats(slots, count) }),
  }
}

/** Embedding and head, of which a draft vocabulary leaves its own rows. */
function frozenOf({ drafter, frozen, tiedEmbeddings, draftVocab }: LearnerParts): Feeds {
  const { vocabSize, hiddenSize, draftVocabSize } = drafter
  const found = draftVocab?.ids.length ?? null
  if (found !== draftVocabSize) {
    const facts = `want=${draftVocabSize}, found=${found}`
    throw new Failure('invalid', `the draft vocabulary is not the drafter's. ${facts}`)
  }
  const rows = (data: Float32Array): Feed => {
    return { dtype: 'F32', shape: [data.length / hiddenSize, hiddenSize], data }
  }
  const names = frozenNames(tiedEmbeddings)
  const tensor = (name: string): Float32Array => {
    const data = frozen.get(name)
    if (data?.length === vocabSize * hiddenSize) return data
    const want = `[${vocabSize}, ${hiddenSize}]`
    throw new Failure('invalid', `the target lacks a tensor. tensor=${name}, want=${want}`)
  }
  const head = tensor(names.head)
  return {
    [names.embedding]: rows(tensor(names.embedding)),
    ...(draftVocab
      ? { [draftHeadName]: rows(draftVocab.rowsOf(head)) }
      : { [names.head]: rows(head) }),
  }
}

const statesOf = (data: Uint16Array | Float32Array, shape: readonly number[]): Feed =>
  data instanceof Float32Array ? { dtype: 'F32', shape, data } : { dtype: 'U16', shape, data }

const together = (parts: readonly Learnt[]): Learnt => ({
  loss: parts.reduce((sum, { loss }) => sum + loss, 0),
  acceptance: parts.map(({ acceptance }) => acceptance).reduce(addAcceptance),
})
