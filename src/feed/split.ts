/**
 * Which samples are held out of training, to judge it by. A split is made once, of all samples that
 * are known then, and kept with the training: afterwards the side of each sample, also of one that
 * comes later, follows from its own content and the split's border alone. So no sample changes
 * sides when the dataset is put in another order, cut, extended or stored further.
 */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import { mixed, seedFor } from '../shuffle.ts'
import { hashOrder } from './hash-order.ts'

export const splitSchema = z.strictObject({
  seed: z.int(),
  /** Of the samples, how many were to be held out: between 0 and 1. */
  share: z.number(),
  /** Distinct samples when it was made, and how many of them it held out. */
  samples: z.int().nonnegative(),
  heldOut: z.int().nonnegative(),
  /** The first rank that is not held out: 40 hexadecimal digits. */
  border: z.string().regex(/^[0-9a-f]{40}$/),
})

/** A held-out split as a checkpoint keeps it: small, and complete. */
export type Split = z.output<typeof splitSchema>

export interface SplitWanted {
  readonly seed: number
  readonly share: number
}

/**
 * How many of so many samples are held out: what training leaves, which gets its share rounded
 * down. Exact in decimals: two float expressions for the two sides need not meet.
 *
 * @param share  as a person wrote it, such as 0.02
 * @throws       Failure `invalid`: it is not between 0 and 1
 */
export function heldOutCount(samples: number, share: number): number {
  if (!(share > 0 && share < 1)) {
    throw new Failure('invalid', `no share can be held out. want=between 0 and 1, found=${share}`, {
      remedy: 'Set train.heldOut, such as 0.02; null holds out nothing.',
    })
  }
  const { digits, scale } = decimal(share)
  return Number((BigInt(samples) * digits + scale - 1n) / scale)
}

/** The shortest decimal that is this number: digits / scale. */
function decimal(share: number): { readonly digits: bigint; readonly scale: bigint } {
  const [mantissa, exponent] = share.toExponential().split('e-')
  const [whole, fraction = ''] = mantissa.split('.')
  return {
    digits: BigInt(whole + fraction),
    scale: 10n ** BigInt(Number(exponent) + fraction.length),
  }
}

/**
 * Holds out the samples of the lowest ranks.
 *
 * @param hashes  of distinct samples, 16 bytes each, in whatever order
 * @throws        Failure `invalid`: the share is none, or no sample is left to train on
 */
export function makeSplit(hashes: Uint8Array, { seed, share }: SplitWanted): Split {
  const samples = hashes.length / 16
  const heldOut = heldOutCount(samples, share)
  if (heldOut >= samples) {
    const facts = `samples=${samples}, held out=${heldOut}, heldOut=${share}`
    throw new Failure('invalid', `no sample is left to train on. ${facts}`, {
      remedy: 'Train on more samples, or lower train.heldOut; null holds out nothing.',
    })
  }
  const order = hashOrder(hashes, (first) => rankWord(first, seed))
  const border = rankOf(hashAt(hashes, order[heldOut]), seed)
  return { seed, share, samples, heldOut, border }
}

/** @param hash  32 hexadecimal digits */
export function isHeldOut(split: Split | null, hash: string): boolean {
  if (split === null) return false
  const [word, border] = [rankWord(firstWord(hash), split.seed), firstWord(split.border)]
  return word === border ? hash < split.border.slice(8) : word < border
}

/**
 * Of what is held out, in an order that follows from seed and content alone: where some are to
 * stand for all, they are the first of it.
 *
 * @param hashes  of samples, 16 bytes each, in whatever order
 * @returns       which of the samples they are
 */
export function heldOutInOrder(hashes: Uint8Array, split: Split | null): Uint32Array {
  if (split === null) return new Uint32Array()
  const order = hashOrder(hashes, (first) => rankWord(first, split.seed))
  const kept = order.findIndex((sample) => !isHeldOut(split, hashAt(hashes, sample)))
  return kept < 0 ? order : order.subarray(0, kept)
}

const firstWord = (hex: string): number => Number.parseInt(hex.slice(0, 8), 16)

/** A rank is the hash behind a word that only the seed can foretell: its first 32 bits, mixed. */
const rankOf = (hash: string, seed: number): string =>
  rankWord(firstWord(hash), seed).toString(16).padStart(8, '0') + hash

const rankWord = (first: number, seed: number): number => mixed((first ^ seedFor(seed, 0)) >>> 0)

const hashAt = (hashes: Uint8Array, sample: number): string =>
  Buffer.from(hashes.buffer, hashes.byteOffset + sample * 16, 16).toString('hex')
