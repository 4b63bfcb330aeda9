/** Where blocks begin: which positions of a sample may be anchors, and a draw among them. */
import { type Random, seededRandom } from '../clock.ts'

/**
 * Named for what they ask of a position p beside its being supervised: `next-supervised` that
 * p + 1 is too (SpecForge's rule), `whole-block` that the block ends within the sample
 * (TorchSpec's), `before-last-block` that it ends before the last token (speculators').
 */
export type AnchorRule = 'next-supervised' | 'whole-block' | 'before-last-block'

/** Which positions may be anchors; `blockSize` in tokens, the anchor among them. */
export interface AnchorOptions {
  readonly rule: AnchorRule
  readonly blockSize: number
}

/**
 * @param lossMask  of one sample, unpadded: 1 where a token is supervised
 * @returns         positions in rising order
 */
export const eligibleAnchors = (lossMask: Uint8Array, options: AnchorOptions): number[] => [
  ...eligible(lossMask, options),
]

/** Whether a sample can be trained on at all. */
export const hasEligibleAnchor = (lossMask: Uint8Array, options: AnchorOptions): boolean =>
  eligible(lossMask, options).next().done !== true

function* eligible(lossMask: Uint8Array, { rule, blockSize }: AnchorOptions): Generator<number> {
  const tokens = lossMask.length
  // TorchSpec leaves out a sample of a single block, though that would fit.
  if (rule === 'whole-block' && tokens === blockSize) return
  const next = rule === 'next-supervised' ? 1 : 0
  const left = {
    'next-supervised': 1,
    'whole-block': blockSize - 1,
    'before-last-block': blockSize,
  }
  const end = tokens - left[rule]
  for (let p = 0; p < end; p++) {
    if (lossMask[p] === 1 && lossMask[p + next] === 1) yield p
  }
}

/** @returns  `count` of the positions, or all; each set of them equally likely; in rising order */
export function drawAnchors(eligible: readonly number[], count: number, random: Random): number[] {
  const left = [...eligible]
  const drawn = Math.min(count, left.length)
  for (let i = 0; i < drawn; i++) {
    const j = i + Math.floor(random() * (left.length - i))
    ;[left[i], left[j]] = [left[j], left[i]]
  }
  return left.slice(0, drawn).sort((a, b) => a - b)
}

/** Chance of its own for each row that a training draws for: no draw depends on those before it. */
export function randomOfRow(at: {
  readonly seed: number
  readonly plan: number
  readonly row: number
}): Random {
  const mixed = [at.seed, at.plan, at.row].reduce(
    (state, part) => Math.floor(seededRandom((state ^ part) >>> 0)() * 2 ** 32),
    0x9e3779b9,
  )
  return seededRandom(mixed)
}
