/** The training graph of one shape: hidden states and blocks in, loss and gradients out. */
import { gradients } from '../autodiff/backward.ts'
import { type Distillation, headLoss } from '../autodiff/head-loss.ts'
import { recomputed } from '../autodiff/recomputed.ts'
import { Builder } from '../graph/builder.ts'
import { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import { contextFeature, drafterLayer, finalNorm, keysValues } from '../models/dflash.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterTensors } from '../models/drafter-tensors.ts'
import { frozenNames } from '../models/frozen.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import { Parameters } from '../models/parameters.ts'
import type { Weights } from '../models/weights.ts'
import { type BatchShape, BlockRows } from './block-rows.ts'

/** What sets a training graph, beside the drafter. */
export interface LossGraphOptions {
  readonly shape: BatchShape
  /** Of the hidden states that come in; the 16-bit ones as their bits, in U16. */
  readonly dtype: StoredDType
  /** Whether the target's head is its embedding. */
  readonly tiedEmbeddings: boolean
  /** Where embedding and head lie; or `inputs`, in float32. */
  readonly frozen: Weights | 'inputs'
  /**
   * Logits of so many bytes are there at once, and scores of attention: chunks follow each other.
   */
  readonly chunkBytes: number
  /** Layers are computed again on the way back: their values need not be kept. */
  readonly recompute: boolean
  /** With the gradients; otherwise the loss alone, as held-out samples want it. */
  readonly learns: boolean
  /** Null: the loss is the labels' cross-entropy alone. */
  readonly distillation: Distillation | null
}

/** A parameter's gradient, among the outputs. */
export const gradientName = (parameter: string): string => `grad:${parameter}`

/** With a draft vocabulary, the rows of the head that are its tokens': an input, float32. */
export const draftHeadName = 'draft_head.weight'

/**
 * Inputs: the drafter's parameters by name, float32; embedding and head where they are inputs;
 * `hidden` [rows, tokens, layers · hidden]; `anchors` int64 [rows, blocks]; `labels` int64 and
 * `weights` float32 [rows, blocks, slots], slot 0 of a block's labels being its anchor's token; for
 * distillation `final` [rows, tokens, hidden], the target's state after its last norm.
 *
 * Outputs: `loss`, Σ weight · cross-entropy (see `Distillation` for what is then added), float32
 * scalar; of slots 1 … , each float32 [rows, blocks, slots − 1], `cross_entropy`, `correct`, 1
 * where the likeliest token is the label, and for distillation `divergence`; `grad:<parameter>` for
 * each parameter where it learns. Weights that are divided beforehand make losses and gradients of
 * several batches add up.
 */
export function lossGraph(config: DrafterConfig, options: LossGraphOptions): Graph {
  const graph = new Graph()
  for (const { name, gradient } of lossNodes(graph, config, options).trained) {
    graph.output(gradientName(name), gradient)
  }
  return graph
}

/** What a step changes, in the order of the drafter's tensors: nothing where it does not learn. */
export interface LossNodes {
  readonly loss: Value
  readonly trained: readonly {
    readonly name: string
    readonly parameter: Value
    readonly gradient: Value
  }[]
}

/** The same within a graph that goes on with the gradients: they are no outputs of it. */
export function lossNodes(
  graph: Graph,
  config: DrafterConfig,
  options: LossGraphOptions,
): LossNodes {
  const { rows, blocks } = options.shape
  const slots = config.blockSize
  const anchors = graph.input('anchors', { dtype: 'I64', shape: [rows, blocks] })
  const labels = graph.input('labels', { dtype: 'I64', shape: [rows, blocks, slots] })
  const p = new Parameters(graph, 'inputs', '')
  const target = new Parameters(graph, options.frozen, '')
  const places = new BlockRows(graph, { anchors, shape: options.shape, config })
  const embedded = blockRows(target, labels, config)
  const drafted = draft(p, { embedded, places, options })
  const loss = slotsLoss(target, { drafted, labels, places, options })
  if (!options.learns) return { loss, trained: [] }
  const parameters = drafterTensors(config).map(({ name, shape }) => ({
    name,
    parameter: p.get(name, shape),
  }))
  const wrt = parameters.map(({ parameter }) => parameter)
  const found = gradients(graph, loss, wrt)
  return { loss, trained: parameters.map((one, i) => ({ ...one, gradient: found[i] })) }
}

interface Drafted {
  /** float32 [rows · blocks · slots, hidden] */
  readonly drafted: Value
  readonly labels: Value
  readonly places: BlockRows
  readonly options: LossGraphOptions
}

/** The loss, and as outputs what became of each slot. */
function slotsLoss(target: Parameters, { drafted, labels, places, options }: Drafted): Value {
  const { graph } = target
  const { config, shape } = places
  const { hiddenSize: hidden, blockSize: slots } = config
  const b = new Builder(graph, 'trained')
  const count = shape.rows * shape.blocks
  const bySlot = [shape.rows, shape.blocks, slots - 1]
  const flat = (x: Value, width: readonly number[]) =>
    b.reshape(drop(b, b.reshape(x, [count, slots, ...width])), [count * (slots - 1), ...width])
  const type = { dtype: 'F32', shape: [shape.rows, shape.blocks, slots] } as const
  const weights = graph.input('weights', type)
  const head = headOf(target, { config, options })
  const wanted = flat(labels, [])
  const { distillation, chunkBytes } = options
  const teacher = distillation ? teacherRows(graph, { places, options }) : undefined
  const [loss, crossEntropy, predicted, divergence] = headLoss(
    graph,
    'head',
    [flat(drafted, [hidden]), head, wanted, flat(weights, []), teacher],
    { logitBytes: chunkBytes, trained: false, ...(distillation && { distillation }) },
  )
  const correct = graph.cast('correct:f32', b.op('Equal', [predicted, wanted], {}), 'F32')
  graph.output('loss', loss)
  graph.output('cross_entropy', b.reshape(crossEntropy, bySlot))
  graph.output('correct', b.reshape(correct, bySlot))
  if (distillation) graph.output('divergence', b.reshape(divergence, bySlot))
  return loss
}

function headOf(
  target: Parameters,
  { config, options }: { readonly config: DrafterConfig; readonly options: LossGraphOptions },
): Value {
  const { draftVocabSize: drafted, hiddenSize } = config
  if (drafted === null) {
    return target.get(frozenNames(options.tiedEmbeddings).head, vocabulary(config))
  }
  return target.graph.input(draftHeadName, { dtype: 'F32', shape: [drafted, hiddenSize] })
}

/**
 * Of each slot from 1 on, what the target had computed one position before: there it predicts the
 * slot's own token.
 *
 * @returns  float32 [rows · blocks · (slots − 1), hidden]
 */
function teacherRows(
  graph: Graph,
  { places, options }: { readonly places: BlockRows; readonly options: LossGraphOptions },
): Value {
  const { config, shape } = places
  const { rows, tokens, blocks } = shape
  const { hiddenSize: hidden, blockSize: slots } = config
  const b = new Builder(graph, 'teacher')
  const final = stateRows(graph, { name: 'final', width: hidden }, { places, options })
  const [from, to, axes] = [[0], [slots - 1], [1]].map((list) => graph.integers(list))
  const before = b.op('Slice', [places.block.positions, from, to, axes], {})
  // Beyond the sample no slot has weight: any row will do.
  const isInside = b.op('Less', [before, graph.integers(tokens)], {})
  const inside = b.op('Where', [isInside, before, graph.integers(tokens - 1)], {})
  const starts = graph.integers(Array.from({ length: rows }, (_, row) => row * tokens))
  const ofRow = b.expand(b.reshape(starts, [rows, 1]), [rows, blocks])
  const at = b.add(inside, b.reshape(ofRow, [rows * blocks, 1]))
  const picked = b.op('Gather', [final, at], { axis: 0 })
  return b.reshape(picked, [rows * blocks * (slots - 1), hidden])
}

const vocabulary = ({ vocabSize, hiddenSize }: DrafterConfig) => [vocabSize, hiddenSize]

/** Slot 0 is known: it has no part in the loss. */
function drop(b: Builder, x: Value): Value {
  const bounds = [[1], [Number(x.shape[1])], [1]].map((list) => b.graph.integers(list))
  const [from, to, axes] = bounds
  return b.op('Slice', [x, from, to, axes], {})
}

/**
 * Each block's known token and the masks behind it, as the target embeds them.
 *
 * @returns  float32 [rows · blocks · slots, hidden]
 */
function blockRows(target: Parameters, labels: Value, config: DrafterConfig): Value {
  const { blockSize: slots, hiddenSize: hidden } = config
  const b = new Builder(target.graph, 'blocks')
  const table = target.get(frozenNames(true).embedding, vocabulary(config))
  const [rows, blocks] = labels.shape.map(Number)
  const count = rows * blocks
  const first = [[0], [1], [1]].map((list) => b.graph.integers(list))
  const [from, to, axes] = first
  const flat = b.reshape(labels, [count, slots])
  const anchors = b.op('Gather', [table, b.op('Slice', [flat, from, to, axes], {})], { axis: 0 })
  const mask = b.op('Gather', [table, b.graph.integers([config.maskTokenId])], { axis: 0 })
  const masks = b.expand(b.reshape(mask, [1, 1, hidden]), [count, slots - 1, hidden])
  return b.reshape(b.concat([anchors, masks], 1), [count * slots, hidden])
}

interface Batch {
  readonly embedded: Value
  readonly places: BlockRows
  readonly options: LossGraphOptions
}

/** @returns  float32 [rows · blocks · slots, hidden], after the final norm */
function draft(p: Parameters, { embedded, places, options }: Batch): Value {
  const { config } = places
  const width = config.targetLayerIds.length * config.hiddenSize
  const hidden = stateRows(p.graph, { name: 'hidden', width }, { places, options })
  const feature = contextFeature(p, hidden, config)
  let x = embedded
  for (let i = 0; i < config.layers; i++) {
    const { chunkBytes } = options
    const build = ([x, feature]: readonly Value[]) => [
      layer(p, { x, feature, i, places, chunkBytes }),
    ]
    const name = `layers.${i}`
    ;[x] = options.recompute
      ? recomputed(p.graph, { name, inputs: [x, feature] }, build)
      : build([x, feature])
  }
  return finalNorm(p, x, config)
}

interface Layer {
  readonly x: Value
  readonly feature: Value
  readonly i: number
  readonly places: BlockRows
  readonly chunkBytes: number
}

function layer(p: Parameters, { x, feature, i, places, chunkBytes }: Layer): Value {
  const { config } = places
  const own = p.within(`layers.${i}`)
  const context = keysValues(own, feature, { of: 'context', turning: places.context, config })
  const attend = places.attend(i, context, chunkBytes)
  return drafterLayer(own, x, { turning: places.block, attend, config })
}

/** States of the target, a row a token: float32 [rows · tokens, width]. */
function stateRows(
  graph: Graph,
  { name, width }: { readonly name: string; readonly width: number },
  { places, options }: { readonly places: BlockRows; readonly options: LossGraphOptions },
): Value {
  const { rows, tokens } = places.shape
  const b = new Builder(graph, `${name}:rows`)
  const shape = [rows, tokens, width]
  const flat = (x: Value) => b.reshape(x, [rows * tokens, width])
  const { dtype } = options
  if (dtype === 'f32') return flat(graph.input(name, { dtype: 'F32', shape }))
  const bits = flat(graph.input(name, { dtype: 'U16', shape }))
  const narrow = b.op('BitCast', [bits], { to: dtype === 'bf16' ? 'BF16' : 'F16' })
  return graph.cast(b.name('wide'), narrow, 'F32')
}
