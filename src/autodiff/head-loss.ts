import { type Builder, lengths } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'
import { composite } from './composite.ts'
import { type Divergence, divergenceOf } from './divergence.ts'

export type HeadLossInputs = readonly [
  /** float32 [rows, hidden] */
  hidden: Value,
  /** float32 [vocab, hidden] */
  head: Value,
  /** int64 [rows], each below vocab */
  labels: Value,
  /** float32 [rows] */
  weights: Value,
  /**
   * float32 [rows, hidden]: what another model's head, the same one, is given; where one teaches.
   */
  teacher?: Value,
]

export interface HeadLossSettings {
  /** Logits of so many bytes are there at once, those of a single row at least. */
  readonly logitBytes: number
  /** Whether the head has a gradient too; a frozen one saves a pass over the logits. */
  readonly trained: boolean
  readonly distillation?: Distillation
}

/** How much is learned from the teacher's distribution rather than from labels. */
export interface Distillation {
  /** From 0 to 1: the loss is (1 − weight) · cross-entropy + weight · temperature² · KL. */
  readonly weight: number
  /** Logits of both are divided by it. */
  readonly temperature: number
}

/** The last two are the gradients' of hidden and head. */
export type HeadLoss = readonly [
  loss: Value,
  crossEntropy: Value,
  predicted: Value,
  divergence: Value,
  hiddenSlope: Value,
  headSlope: Value,
]

/**
 * Σ weight · cross-entropy(softmax(hidden headᵀ), label), in natural logarithms. Rows are taken in
 * chunks, and each chunk's gradient is computed while its logits are there: they are never kept.
 *
 * @returns  loss, a float32 scalar; each row's cross-entropy, float32 [rows], most likely entry,
 *           int64 [rows], and KL, float32 [rows], 0 where nobody teaches; what the gradient wants
 */
export const headLoss = composite<HeadLossInputs, HeadLossSettings, HeadLoss>({
  forward(b, inputs, settings) {
    const [hidden, head] = inputs
    const [rows, vocab] = [lengths(hidden)[0], lengths(head)[0]]
    const step = Math.max(1, Math.floor(settings.logitBytes / (4 * vocab)))
    const chunks: Chunk[] = []
    for (let from = 0; from < rows; from += step) {
      const to = Math.min(rows, from + step)
      chunks.push(chunkOf(b, inputs, { from, to, settings, last: chunks.at(-1) }))
    }
    const joined = (part: (chunk: Chunk) => Value) => {
      const [first, ...more] = chunks.map(part)
      return b.concat([first, ...more], 0)
    }
    const summed = (part: (chunk: Chunk) => Value) => chunks.map(part).reduce(b.add)
    return [
      summed(({ loss }) => loss),
      joined(({ crossEntropy }) => crossEntropy),
      joined(({ predicted }) => predicted),
      joined(({ divergence }) => divergence),
      joined(({ hiddenSlope }) => hiddenSlope),
      summed(({ headSlope }) => headSlope),
    ]
  },
  vjp({ b, settings, outputs: [, , , , hiddenSlope, headSlope], g }) {
    return [
      () => b.mul(hiddenSlope, g),
      settings.trained ? () => b.mul(headSlope, g) : null,
      null,
      null,
      null,
    ]
  },
})

interface Chunk {
  readonly loss: Value
  readonly crossEntropy: Value
  readonly predicted: Value
  readonly divergence: Value
  readonly hiddenSlope: Value
  readonly headSlope: Value
}

interface Piece {
  readonly from: number
  readonly to: number
  readonly settings: HeadLossSettings
  /** It is done with before this one begins. */
  readonly last: Chunk | undefined
}

function chunkOf(b: Builder, inputs: HeadLossInputs, piece: Piece): Chunk {
  const [allHidden, head, allLabels, allWeights] = inputs
  const { from, to, last, settings } = piece
  const count = to - from
  const ready = last ? b.after(allHidden, last.hiddenSlope) : allHidden
  const hidden = b.rows(ready, from, to)
  const column = b.reshape(b.rows(allLabels, from, to), [count, 1])
  const weight = b.reshape(b.rows(allWeights, from, to), [count, 1])
  const logits = b.matmul(hidden, head, { transB: true })
  const shares = b.op('Softmax', [logits], { axis: 1 })
  const predicted = b.op('ArgMax', [logits], { axis: 1, keepdims: 1 })
  const crossEntropy = crossEntropyOf(b, { logits, shares, column, predicted })
  const taught = teaching(b, inputs, { piece, logits })
  const share = b.mul(weight, b.scalar(1 - (taught?.weight ?? 0)))
  const pulled = { hidden, head, column, weight: share, shares, taught, all: weight }
  const lost = b.mul(crossEntropy, share)
  const learned = taught && b.mul(taught.divergence, b.mul(weight, taught.factor))
  return {
    loss: b.sum(learned ? b.add(lost, learned) : lost, [0, 1], 0),
    crossEntropy: b.reshape(crossEntropy, [count]),
    predicted: b.reshape(predicted, [count]),
    divergence: taught ? b.reshape(taught.divergence, [count]) : b.expand(b.scalar(0), [count]),
    ...(settings.trained ? trainedSlopes(b, pulled) : frozenSlopes(b, pulled)),
  }
}

/**
 * log Σ eˣ − x[label]. The likeliest entry has the share 1 / Σ eˣ⁻ᵐᵃˣ: the sum is read off there,
 * and no pass over the logits is made for it.
 */
function crossEntropyOf(
  b: Builder,
  {
    logits,
    shares,
    column,
    predicted,
  }: Record<'logits' | 'shares' | 'column' | 'predicted', Value>,
): Value {
  const at = (x: Value, place: Value) => b.op('GatherElements', [x, place], { axis: 1 })
  const behind = b.sub(at(logits, predicted), at(logits, column))
  return b.sub(behind, b.op('Log', [at(shares, predicted)], {}))
}

interface Teaching extends Divergence {
  readonly weight: number
  /** weight · temperature², and what of it the slope of the logits keeps. */
  readonly factor: Value
  readonly pull: Value
}

function teaching(
  b: Builder,
  [, head, , , allTeacher]: HeadLossInputs,
  { piece, logits }: { readonly piece: Piece; readonly logits: Value },
): Teaching | undefined {
  const { distillation } = piece.settings
  if (!allTeacher || !distillation) return undefined
  const { weight, temperature } = distillation
  // Not before this chunk's turn either.
  const rows = b.rows(piece.last ? b.after(allTeacher, logits) : allTeacher, piece.from, piece.to)
  const teacher = b.matmul(rows, head, { transB: true, alpha: 1 / temperature })
  const cooled = b.mul(logits, b.scalar(1 / temperature))
  return {
    weight,
    factor: b.scalar(weight * temperature ** 2),
    pull: b.scalar(weight * temperature),
    ...divergenceOf(b, { logits: cooled, teacher }),
  }
}

interface Pulled {
  readonly hidden: Value
  readonly head: Value
  readonly column: Value
  /** Of labels; and of all that is learned from. */
  readonly weight: Value
  readonly all: Value
  /** softmax(logits), [rows, vocab] */
  readonly shares: Value
  readonly taught: Teaching | undefined
}

/** Of the logits, less what the label's own entry adds: [rows, vocab] */
function pullOf(b: Builder, { weight, all, shares, taught }: Pulled): Value {
  const labelled = b.mul(shares, weight)
  return taught ? b.add(labelled, b.mul(taught.slope, b.mul(all, taught.pull))) : labelled
}

/**
 * weight · (P head − head[label]): the label's row alone, no matrix of zeros and ones; and the
 * weight, where it is one for all of a row, behind the product, which is narrower.
 */
function frozenSlopes(b: Builder, pulled: Pulled) {
  const { head, column, weight, shares, taught } = pulled
  const own = b.op('Gather', [head, b.reshape(column, [lengths(column)[0]])], { axis: 0 })
  const hiddenSlope = taught
    ? b.sub(b.matmul(pullOf(b, pulled), head), b.mul(own, weight))
    : b.mul(b.sub(b.matmul(shares, head), own), weight)
  return { hiddenSlope, headSlope: b.scalar(0) }
}

function trainedSlopes(b: Builder, pulled: Pulled) {
  const { hidden, head, column, weight } = pulled
  const vocab = lengths(head)[0]
  const entries = b.graph.integers(Array.from({ length: vocab }, (_, i) => i))
  const isOwn = b.op('Equal', [entries, column], {})
  const slope = b.sub(pullOf(b, pulled), b.op('Where', [isOwn, weight, b.scalar(0)], {}))
  return {
    hiddenSlope: b.matmul(slope, head),
    headSlope: b.matmul(slope, hidden, { transA: true }),
  }
}
