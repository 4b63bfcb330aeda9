/**
 * One optimizer step as nodes of a graph, for devices whose memory only a graph reaches: clipping
 * by global norm and AdamW, or, where loss or gradient is out of range, nothing. The same
 * arithmetic as adamw.wat's in the same order; the norm is summed in float32. What becomes of the
 * parameters is for `StepJudge`: whoever runs the graph keeps the state of before where that says
 * so.
 */
import type { Builder } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'
import { type AdamwSettings, decays } from './adamw.ts'
import { gradientNormMax, normEpsilon } from './judge.ts'

/** All float32 of one shape. */
export interface TrainedValues {
  readonly name: string
  readonly parameter: Value
  readonly gradient: Value
  readonly firstMoment: Value
  readonly secondMoment: Value
}

/** What differs from step to step: float32 scalars. */
export interface StepValues {
  /** Of the step: where it is not finite, nothing changes. */
  readonly loss: Value
  /** lr ÷ (1 − β₁ᵗ), with t this step's number from 1. */
  readonly rate: Value
  /** 1 ÷ √(1 − β₂ᵗ) */
  readonly correction: Value
  /** What decay leaves of a parameter: 1 − lr × decay. */
  readonly keep: Value
  /** BOOL: where it is false, nothing changes. Left out: true. */
  readonly when?: Value
}

export interface AppliedValues {
  /** In the order given: what each tensor is after the step. */
  readonly tensors: readonly Pick<TrainedValues, 'parameter' | 'firstMoment' | 'secondMoment'>[]
  /** float32 [tensors]: of each gradient the sum of its squares. */
  readonly squares: Value
  /** float32 scalar: of all gradients together, before clipping. */
  readonly norm: Value
  /** BOOL scalar: whether anything has changed. */
  readonly changed: Value
}

const greatest = 3.4028234663852886e38

/** @param trained  one or more */
export function adamwNodes(
  b: Builder,
  trained: readonly TrainedValues[],
  step: StepValues,
  settings: AdamwSettings,
): AppliedValues {
  const [first, ...more] = trained.map(({ gradient }) => squaresOf(b, gradient))
  const squares = b.concat([first, ...more], 0)
  const norm = b.op('Sqrt', [b.sum(squares, [0], 0)], {})
  const inRange = b.op('LessOrEqual', [norm, b.scalar(gradientNormMax)], {})
  const finite = b.op('And', [inRange, finiteOf(b, step.loss)], {})
  const changed = step.when ? b.op('And', [finite, step.when], {}) : finite
  const clip = clipOf(b, norm, settings.clip)
  const or = (fresh: Value, old: Value) => b.op('Where', [changed, fresh, old], {})
  const tensors = trained.map((tensor) => {
    const fresh = updated(b, { tensor, step, clip }, settings)
    return {
      parameter: or(fresh.parameter, tensor.parameter),
      firstMoment: or(fresh.firstMoment, tensor.firstMoment),
      secondMoment: or(fresh.secondMoment, tensor.secondMoment),
    }
  })
  return { tensors, squares, norm, changed }
}

/** By rows, and then over the rows: short sums lose less, and rows are summed side by side. */
function squaresOf(b: Builder, x: Value): Value {
  const axes = x.shape.map((_, axis) => axis)
  const rows = b.sum(b.mul(x, x), axes.slice(-1), 0)
  return b.reshape(b.sum(rows, axes.slice(0, -1), 0), [1])
}

/** Whether x is finite: comparisons with what is no number are false. */
function finiteOf(b: Builder, x: Value): Value {
  const [least, most] = [b.scalar(-greatest), b.scalar(greatest)]
  return b.op('And', [b.op('LessOrEqual', [x, most], {}), b.op('LessOrEqual', [least, x], {})], {})
}

function clipOf(b: Builder, norm: Value, clip: number | null): Value {
  const one = b.scalar(1)
  if (clip === null) return one
  const coefficient = b.div(b.scalar(clip), b.add(norm, b.scalar(normEpsilon)))
  return b.op('Where', [b.op('Less', [coefficient, one], {}), coefficient, one], {})
}

function updated(
  b: Builder,
  at: { readonly tensor: TrainedValues; readonly step: StepValues; readonly clip: Value },
  settings: AdamwSettings,
) {
  const { tensor, step, clip } = at
  const [beta1, beta2] = settings.betas
  const g = b.mul(tensor.gradient, clip)
  const toMean = b.mul(b.sub(g, tensor.firstMoment), b.scalar(1 - beta1))
  const firstMoment = b.add(tensor.firstMoment, toMean)
  const kept = b.mul(tensor.secondMoment, b.scalar(beta2))
  const secondMoment = b.add(kept, b.mul(b.mul(g, g), b.scalar(1 - beta2)))
  const root = b.mul(b.op('Sqrt', [secondMoment], {}), step.correction)
  const change = b.div(b.mul(step.rate, firstMoment), b.add(root, b.scalar(settings.epsilon)))
  const { parameter } = tensor
  const decayed = decays(settings, tensor.name) ? b.mul(parameter, step.keep) : parameter
  return { parameter: b.sub(decayed, change), firstMoment, secondMoment }
}
