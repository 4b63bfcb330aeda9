/**
 * Whether a step may be done: one after which a parameter or a moment could be no number any more,
 * or infinite, is not. The same for all that compute steps, so that all skip the same ones.
 */
import type { AdamwSettings, Stepped } from './adamw.ts'
import type { FlatTensors } from './flat.ts'

/**
 * The greatest norm of all gradients together, in float32's range with room to spare for its
 * square, of which the second moments are made.
 */
export const gradientNormMax = 1e19

/** A third of what float32 holds: a bound need not know how each sum was rounded. */
const greatest = 1e38

/** Keeps a gradient of norm 0 from dividing by it. */
export const normEpsilon = 1e-6

/** What all gradients are multiplied with. */
const clipCoefficientOf = ({ clip }: AdamwSettings, gradientNorm: number): number =>
  clip === null ? 1 : Math.min(1, clip / (gradientNorm + normEpsilon))

/** @param count  of this step, from 1 */
export function ratesOf({ betas, weightDecay }: AdamwSettings, lr: number, count: number) {
  const [beta1, beta2] = betas
  return {
    rate: lr / (1 - beta1 ** count),
    /** 1 ÷ √(1 − β₂ᵗ) */
    correction: 1 / Math.sqrt(1 - beta2 ** count),
    /** What decay leaves of a parameter. */
    keep: 1 - lr * weightDecay,
  }
}

export interface StepFound {
  readonly loss: number
  /** Of all gradients together. */
  readonly gradientNorm: number
  /** Of each tensor's gradient the sum of its squares, in the order of the places. */
  readonly squares: ArrayLike<number>
  readonly lr: number
  /** Of this step, from 1. */
  readonly count: number
}

/** What no parameter and no first moment exceeds. */
interface Bounds {
  readonly parameter: number
  readonly moment: number
}

const isBearable = ({ parameter }: Bounds): boolean => parameter <= greatest

interface StepSize {
  readonly rate: number
  readonly keep: number
  /** The norm of all gradients as they are applied. */
  readonly gradient: number
}

export class StepJudge {
  readonly #flat: FlatTensors
  readonly #settings: AdamwSettings
  readonly #tensorsAre: 'here' | 'onDevice'
  /** Undefined where the tensors have to be looked at. */
  #bounds: Bounds | undefined

  /**
   * @param tensorsAre  `onDevice`: those here are of some earlier step, but for when they were
   *                    written
   */
  constructor(
    flat: FlatTensors,
    settings: AdamwSettings,
    tensorsAre: 'here' | 'onDevice' = 'here',
  ) {
    this.#flat = flat
    this.#settings = settings
    this.#tensorsAre = tensorsAre
  }

  /** The tensors were written by somebody else. */
  written(): void {
    this.#bounds = undefined
  }

  /** What is to become of a step; where that is `applied`, it is taken for done. */
  judge({ loss, gradientNorm, squares, lr, count }: StepFound): Stepped {
    const isLarge = (_: unknown, i: number) => !(squares[i] <= gradientNormMax ** 2)
    if (!(gradientNorm <= gradientNormMax) || !Number.isFinite(loss)) {
      return {
        state: 'skipped',
        tensors: this.#flat.places.filter(isLarge).map(({ name }) => name),
      }
    }
    const clipCoefficient = clipCoefficientOf(this.#settings, gradientNorm)
    const step = { ...ratesOf(this.#settings, lr, count), gradient: gradientNorm * clipCoefficient }
    const carried = this.#bounds
    let after = this.#after(carried ?? this.#measured(), step)
    // Bounds only grow. Whoever has just resumed measures, so what they say must be measured too.
    if (!isBearable(after) && carried && this.#tensorsAre === 'here') {
      after = this.#after(this.#measured(), step)
    }
    if (!isBearable(after)) return { state: 'skipped', tensors: [] }
    this.#bounds = after
    return { state: 'applied', gradientNorm, clipCoefficient }
  }

  #after(before: Bounds, { rate, keep, gradient }: StepSize): Bounds {
    // A mean of gradients is none larger than the largest; a root in the divisor only helps.
    const moment = Math.max(before.moment, gradient)
    const change = (rate * moment) / Math.min(1, Math.fround(this.#settings.epsilon))
    return { moment, parameter: before.parameter * Math.max(1, Math.abs(keep)) + change }
  }

  #measured(): Bounds {
    const largest = (region: 'parameters' | 'firstMoments') =>
      this.#flat.places.reduce((most, { view }) => largestOf(view(region), most), 0)
    return { parameter: largest('parameters'), moment: largest('firstMoments') }
  }
}

function largestOf(values: Float32Array, least: number): number {
  let most = least
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]))
  return most
}
