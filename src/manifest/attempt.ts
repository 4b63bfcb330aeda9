/**
 * The `attempt` of a manifest line counts two things: its round in the high byte, and within the
 * round how often the sample was tried again. A loss opens a new round; what was said in an earlier
 * one holds no more, whatever it was. One number, so that a line costs no further column.
 */
import { Failure } from '../failure.ts'

const perRound = 256
const roundsMax = 256

/** 0 until the sample's object was found lost for the first time. */
export const roundOf = (attempt: number): number => Math.floor(attempt / perRound)

/** One more try of the same round; its last stays its last. */
export const nextTry = (attempt: number): number =>
  Math.min(attempt + 1, (roundOf(attempt) + 1) * perRound - 1)

/**
 * The first attempt of the round after this one's.
 *
 * @throws Failure `invalid`: a line cannot count more rounds
 */
export function nextRound(attempt: number): number {
  const round = roundOf(attempt) + 1
  if (round < roundsMax) return round * perRound
  throw new Failure(
    'invalid',
    `a sample was lost too often. round=${round}, max=${roundsMax - 1}`,
    {
      remedy: 'Look at the store: it loses what it has acknowledged, again and again.',
    },
  )
}
