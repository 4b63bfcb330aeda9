/** Which drafts a target stands by, and what it says after them. */
import type { Random } from '../clock.ts'
import { Failure } from '../failure.ts'
import { type Logits, rowOf } from './text.ts'

export interface Verdict {
  /** How many drafts stand, from the first on. */
  readonly accepted: number
  /** The target's own token behind them. */
  readonly next: number
  /**
   * For each of these tokens by how much its logit leads the next best one; empty where tokens are
   * drawn.
   */
  readonly leads: readonly number[]
}

/**
 * @param drafts  none, or those of one block
 * @param logits  one row more than drafts: row i says what follows draft i − 1
 */
export type Verify = (drafts: readonly number[], logits: Logits) => Verdict

/** A draft stands while it is the target's own best token; of equals the first is the best. */
export const greedily: Verify = (drafts, logits) => {
  const leads: number[] = []
  for (let row = 0; ; row++) {
    const { id, lead } = best(rowOf(logits, row))
    leads.push(lead)
    if (row === drafts.length || drafts[row] !== id) return { accepted: row, next: id, leads }
  }
}

/**
 * The place of the greatest, and how far it leads.
 *
 * @throws  Failure `invalid`: there is no number among them
 */
export function best(row: Float32Array): { readonly id: number; readonly lead: number } {
  let id = 0
  let first = Number.NEGATIVE_INFINITY
  let second = Number.NEGATIVE_INFINITY
  for (let i = 0; i < row.length; i++) {
    const value = row[i]
    if (value > first) {
      second = first
      first = value
      id = i
    } else if (value > second) second = value
  }
  if (first === Number.NEGATIVE_INFINITY) throw withoutNumber()
  return { id, lead: first - second }
}

const withoutNumber = (): Failure =>
  new Failure('invalid', 'a model gives no number for a token: its weights are damaged')

/**
 * Tokens come as the target alone would draw them at this temperature. A draft is the drafter's
 * whole say, so it stands with the target's own probability of it; where it falls, the token is
 * drawn from the target's other ones.
 *
 * @source  Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", with a
 *          draft distribution of one token
 */
export function drawing({
  temperature,
  random,
}: {
  readonly temperature: number
  readonly random: Random
}): Verify {
  return (drafts, logits) => {
    for (let row = 0; ; row++) {
      const weights = weightsAt(rowOf(logits, row), temperature)
      if (row === drafts.length) {
        return { accepted: row, next: draw(weights, random), leads: [] }
      }
      const draft = drafts[row]
      const share = weights[draft] / weights.reduce((sum, weight) => sum + weight, 0)
      if (random() < share) continue
      weights[draft] = 0
      return { accepted: row, next: draw(weights, random), leads: [] }
    }
  }
}

/**
 * e^((x − max x) / temperature): probabilities, but for their sum.
 *
 * @throws  Failure `invalid`: one of them is no number, or the greatest is infinite
 */
function weightsAt(row: Float32Array, temperature: number): Float64Array {
  const top = row.reduce((greatest, value) => Math.max(greatest, value), Number.NEGATIVE_INFINITY)
  if (!Number.isFinite(top)) throw withoutNumber()
  return Float64Array.from(row, (value) => Math.exp((value - top) / temperature))
}

function draw(weights: Float64Array, random: Random): number {
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0)
  let last = 0
  for (let id = 0; id < weights.length; id++) {
    if (weights[id] === 0) continue
    last = id
    left -= weights[id]
    if (left < 0) return id
  }
  // Rounding may leave a crumb behind the last token.
  return last
}
