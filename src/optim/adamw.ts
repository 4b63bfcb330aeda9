/**
 * AdamW with decoupled decay over float32 master weights, clipped by global norm. A step either
 * happens whole or changes nothing. Knows no schedule and no graph.
 */
import type { FlatTensors } from './flat.ts'
import { ratesOf, StepJudge } from './judge.ts'

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
      /**
       * Tensors whose gradient is not finite, or beyond what float32 can square; none where it is
       * the loss that is not finite, or the parameters that might not be.
       */
      readonly tensors: readonly string[]
    }

/** Whether a tensor decays. */
export const decays = ({ decayExclude }: AdamwSettings, name: string): boolean =>
  !decayExclude.some((ending) => name.endsWith(ending))

export class Adamw {
  readonly #flat: FlatTensors
  readonly #settings: AdamwSettings
  readonly #judge: StepJudge
  #steps: number

  /** @param steps  how many were applied before, where moments are taken over too */
  constructor(flat: FlatTensors, settings: AdamwSettings, steps = 0) {
    this.#flat = flat
    this.#settings = settings
    this.#judge = new StepJudge(flat, settings)
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
   * @param loss  of the step; see `StepJudge` for steps that are not done, and change nothing
   */
  step({ lr, loss }: { readonly lr: number; readonly loss: number }): Stepped {
    // A sum for each tensor, added in the tensors' order: the same bits however memories hold them.
    const squares = this.#flat.places.map(({ kernels, padded, address }) =>
      kernels.sumOfSquares(address('gradients'), padded),
    )
    const gradientNorm = Math.sqrt(squares.reduce((a, b) => a + b, 0))
    const count = this.#steps + 1
    const stepped = this.#judge.judge({ loss, gradientNorm, squares, lr, count })
    if (stepped.state === 'skipped') return stepped
    this.#steps = count
    this.#apply(lr, stepped.clipCoefficient)
    return stepped
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
