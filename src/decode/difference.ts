/** Whether a drafter changed what a target says: it must not, but for the rounding of floats. */
import type { Decoded } from './speculate.ts'

/** The first place where the two texts part; what follows there tells nothing. */
export interface Difference {
  /** In tokens, from the first that was decoded. */
  readonly at: number
  /** Null where the text had ended before. */
  readonly alone: number | null
  readonly drafted: number | null
  /** By how much either led the next best token there: the smaller of the two. */
  readonly lead: number
  /** No wider than rounding: the target reads several tokens at once or one, and sums differ. */
  readonly isTie: boolean
}

/** Logits are of the order of 10, their rounding of that of 1e-5 in models of billions. */
const tieLeadMax = 1e-3

/** @returns  null where both are the same, token for token */
export function differenceOf(alone: Decoded, drafted: Decoded): Difference | null {
  const length = Math.max(alone.tokens.length, drafted.tokens.length)
  for (let at = 0; at < length; at++) {
    const [want, found] = [alone.tokens[at] ?? null, drafted.tokens[at] ?? null]
    if (want === found) continue
    const leads = [alone.leads[at], drafted.leads[at]].filter((lead) => lead !== undefined)
    const lead = Math.min(...leads)
    return { at, alone: want, drafted: found, lead, isTie: lead <= tieLeadMax }
  }
  return null
}
