/**
 * AdamW with decoupled decay over float32 master weights, clipped by global norm. A step either
 * happens whole or changes nothing. Knows no schedule and no graph.
 */
import type { FlatTensors } from './flat.ts'

export interface AdamwSettings {
  readonly betas: readonly [number, number]
  /** Added to the root of the second moment, outside it. */
  readonly epsilon: number
  /** Each step takes lr × this off a parameter, whatever its gradient. */
  readonly weightDecay: number
  /** The greatest norm of all gradients together; null: they are never scaled. */
  readonly clip: number | null
  /** Endings of the names of tensors that do not decay. */
  readonly decayExclude: readonly string[]
}

/** What became of one step. */
export type Stepped =
  | {
      readonly state: 'applied'
      /** Of all gradients together, before clipping. */
      readonly gradientNorm: number
      /** What they were multiplied with. */
      readonly clipCoefficient: number
    }
  | {
      readonly state: 'skipped'
      /** Tensors whose gradient has a value that is not finite; none where only the loss has. */
      readonly tensors: readonly string[]
    }

/** Keeps a gradient of norm 0 from dividing by it. */
export const normEpsilon = 1e-6

/** Whether a tensor decays. */
export const decays = ({ decayExclude }: AdamwSettings, name: string): boolean =>
  !decayExclude.some((ending) => name.endsWith(ending))

/** What all gradients are multiplied with. */
export const clipCoefficientOf = ({ clip }: AdamwSettings, gradientNorm: number): number =>
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

export class Adamw {
  readonly #flat: FlatTensors
  readonly #settings: AdamwSettings
  #steps: number

  /** @param steps  how many were applied before, where moments are taken over too */
  constructor(flat: FlatTensors, settings: AdamwSettings, steps = 0) {
    this.#flat = flat
    this.#settings = settings
    this.#steps = steps
  }

  /** How many were applied; skipped ones are not counted. */
  get steps(): number {
    return this.#steps
  }

  /** Adds `addends` to `gradients`: one more micro-batch of the step. */
  accumulate(): void {
    for (const { kernels, padded, address } of this.#flat.places) {
      kernels.add(address('gradients'), address('addends'), padded)
    }
  }

  /**
   * One step with what `gradients` holds.
   *
   * @param loss  of the step; where it or a gradient is not finite, nothing changes
   */
  step({ lr, loss }: { readonly lr: number; readonly loss: number }): Stepped {
    // A sum for each tensor, added in the tensors' order: the same bits however memories hold them.
    const squares = this.#flat.places.map(({ kernels, padded, address }) =>
      kernels.sumOfSquares(address('gradients'), padded),
    )
    const gradientNorm = Math.sqrt(squares.reduce((a, b) => a + b, 0))
    if (!Number.isFinite(gradientNorm) || !Number.isFinite(loss)) {
      const bad = this.#flat.places.filter((_, i) => !Number.isFinite(squares[i]))
      return { state: 'skipped', tensors: bad.map(({ name }) => name) }
    }
    const clipCoefficient = clipCoefficientOf(this.#settings, gradientNorm)
    this.#steps++
    this.#apply(lr, clipCoefficient)
    return { state: 'applied', gradientNorm, clipCoefficient }
  }

  #apply(lr: number, clipCoefficient: number): void {
    const { betas, epsilon } = this.#settings
    const [beta1, beta2] = betas
    const { rate, correction, keep } = ratesOf(this.#settings, lr, this.#steps)
    for (const { name, kernels, padded, address } of this.#flat.places) {
      kernels.adamw(
        address('parameters'),
        address('gradients'),
        address('firstMoments'),
        address('secondMoments'),
        padded,
        clipCoefficient,
        1 - beta1,
        beta2,
        1 - beta2,
        decays(this.#settings, name) ? keep : 1,
        rate,
        correction,
        epsilon,
      )
    }
  }
}
