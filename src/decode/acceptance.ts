/** How many tokens each forward pass of a target brought: the figures of a drafter. */
import { type Random, seededRandom } from '../clock.ts'

/** All over steps, of which one is a draft and its verification. */
export interface Acceptance {
  readonly prompts: number
  readonly steps: number
  /** τ: tokens a step, the target's own among them; 1 without a drafter. Null without a step. */
  readonly tau: number | null
  /** Of 95 %, over prompts; null of fewer than two. */
  readonly interval: readonly [low: number, high: number] | null
  /** z-lab's figure: every prompt counts alike, however many steps it took. */
  readonly meanOfPrompts: number | null
  /** How many steps brought i + 1 tokens. */
  readonly histogram: readonly number[]
  /** The share of steps in which draft i stood, and all before it. */
  readonly byPosition: readonly number[]
}

/**
 * @param lengths  for each prompt, the tokens of each of its steps: from 1 to the block's size.
 *                 Prompts without a step do not count
 */
export function acceptanceOf(
  lengths: readonly (readonly number[])[],
  blockSize: number,
): Acceptance {
  const prompts = lengths.filter((list) => list.length > 0)
  const all = prompts.flat()
  const histogram = Array.from({ length: blockSize }, () => 0)
  for (const length of all) histogram[length - 1]++
  return {
    prompts: prompts.length,
    steps: all.length,
    tau: mean(all),
    interval: intervalOf(prompts),
    meanOfPrompts: mean(prompts.map((list) => mean(list) ?? 0)),
    histogram,
    byPosition: Array.from({ length: blockSize - 1 }, (_, i) => {
      return all.filter((length) => length > i + 1).length / Math.max(1, all.length)
    }),
  }
}

const mean = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : sum(numbers) / numbers.length
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

const resamples = 2000
/** Any seed will do; always the same one gives the same interval for the same lengths. */
const seed = 1

/**
 * Bootstrap: prompts are drawn anew, with replacement, since the steps of one are alike. Between
 * the 2.5th and the 97.5th percentile of the means that come out.
 */
function intervalOf(
  prompts: readonly (readonly number[])[],
): readonly [low: number, high: number] | null {
  if (prompts.length < 2) return null
  const totals = prompts.map((list) => ({ tokens: sum(list), steps: list.length }))
  const random = seededRandom(seed)
  const means = Float64Array.from({ length: resamples }, () => resampledMean(totals, random)).sort()
  const cut = Math.round(resamples * 0.025)
  return [means[cut], means[resamples - 1 - cut]]
}

function resampledMean(
  totals: readonly { readonly tokens: number; readonly steps: number }[],
  random: Random,
): number {
  let [tokens, steps] = [0, 0]
  for (let i = 0; i < totals.length; i++) {
    const drawn = totals[Math.floor(random() * totals.length)]
    tokens += drawn.tokens
    steps += drawn.steps
  }
  return tokens / steps
}
