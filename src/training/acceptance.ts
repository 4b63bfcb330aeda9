/** How often a drafter's slots are right, and how many of a block would be accepted. */
import type { Blocks } from './blocks.ts'

/** Counts that add up: over batches, steps and actors. */
export interface Acceptance {
  /** By slot from 1 on: how many were supervised, and how many of those were right. */
  readonly supervised: readonly number[]
  readonly correct: readonly number[]
  /** Blocks with a supervised slot. */
  readonly blocks: number
  /** Their leading right slots; an unsupervised one neither counts nor ends the run. */
  readonly accepted: number
}

/**
 * @param correct  [rows, blocks, size − 1], of slots from 1 on: 1 where the drafter's first choice
 *                 is the label
 * @source         SpecForge `compute_accept_len`
 */
export function acceptanceOf(blocks: Blocks, correct: ArrayLike<number>): Acceptance {
  const slots = blocks.shape.size - 1
  const counts = { supervised: zeros(slots), correct: zeros(slots), blocks: 0 }
  blocks.keep.forEach((_, block) => {
    const supervised = supervisedSlots(blocks, block)
    if (supervised.length > 0) counts.blocks++
    for (const slot of supervised) {
      counts.supervised[slot]++
      if (isRight(blocks, correct, { block, slot })) counts.correct[slot]++
    }
  })
  return { ...counts, accepted: sum(acceptedByBlock(blocks, correct)) }
}

/** Of each block, [rows · blocks], how many leading slots are right; see `Acceptance`. */
export function acceptedByBlock(blocks: Blocks, correct: ArrayLike<number>): number[] {
  return Array.from(blocks.keep, (_, block) => {
    const supervised = supervisedSlots(blocks, block)
    const wrong = supervised.findIndex((slot) => !isRight(blocks, correct, { block, slot }))
    return wrong === -1 ? supervised.length : wrong
  })
}

/** From 0 for slot 1, in order. */
function supervisedSlots({ shape, supervised }: Blocks, block: number): number[] {
  const from = block * shape.size + 1
  return Array.from({ length: shape.size - 1 }, (_, slot) => slot).filter(
    (slot) => supervised[from + slot] === 1,
  )
}

/** A token that cannot be drafted has no weight, and is never right. */
const isRight = (
  { shape, weights }: Blocks,
  correct: ArrayLike<number>,
  { block, slot }: { readonly block: number; readonly slot: number },
): boolean =>
  correct[block * (shape.size - 1) + slot] === 1 && weights[block * shape.size + slot + 1] > 0

/** Of what was counted apart, over blocks of the same size. */
export function addAcceptance(a: Acceptance, b: Acceptance): Acceptance {
  return {
    supervised: a.supervised.map((count, slot) => count + b.supervised[slot]),
    correct: a.correct.map((count, slot) => count + b.correct[slot]),
    blocks: a.blocks + b.blocks,
    accepted: a.accepted + b.accepted,
  }
}

/** The share of supervised slots that are right; of none, NaN. */
export const accuracy = ({ supervised, correct }: Acceptance): number =>
  sum(correct) / sum(supervised)

export const accuracyBySlot = ({ supervised, correct }: Acceptance): number[] =>
  supervised.map((count, slot) => correct[slot] / count)

/**
 * Tokens a target step would yield: those accepted of a block, and the target's own after them. The
 * simulated counterpart of decoding's acceptance length; of no blocks, NaN.
 */
export const acceptanceLength = ({ blocks, accepted }: Acceptance): number => 1 + accepted / blocks

const zeros = (length: number): number[] => new Array<number>(length).fill(0)
const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)
