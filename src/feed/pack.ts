/** Samples to batches of few shapes. Pure: the same samples, rule and seed give the same ones. */
import { seedFor, shuffle } from '../shuffle.ts'
import { fullRows, rungOf, type Shape, shapeFor } from './shapes.ts'

/** What batches follow from, beside the samples. */
export interface PackRule {
  readonly seed: number
  /** Samples among which those of like length find each other, and which are mixed. */
  readonly shuffleWindow: number
  /** Padded tokens a batch: rows × tokens of its shape. A longer sample is a batch alone. */
  readonly tokensPerBatch: number
}

export interface PackedBatch {
  /** Their numbers, longest first; fewer than the shape's rows where no more were left. */
  readonly samples: Uint32Array
  readonly shape: Shape
}

/**
 * All of the samples in an order of the seed's, cut into windows that are packed by themselves.
 *
 * @param samples  their numbers
 * @param tokens   of each sample, by its number
 */
export function packSamples(
  samples: Uint32Array,
  tokens: Uint32Array,
  { seed, shuffleWindow, tokensPerBatch }: PackRule,
): PackedBatch[] {
  const order = samples.slice()
  shuffle(order, seed)
  const batches: PackedBatch[] = []
  for (let start = 0, window = 0; start < order.length; start += shuffleWindow, window++) {
    const within = order.subarray(start, start + shuffleWindow)
    const rule = { seed: seedFor(seed, window), tokensPerBatch }
    for (const batch of packWindow(within, tokens, rule)) batches.push(batch)
  }
  return batches
}

/**
 * One window: batches are cut off its samples, longest first, then come in an order of the seed's.
 * One that is not full comes last, so that whoever gathers several finds no gap before the end.
 */
function packWindow(
  samples: Uint32Array,
  tokens: Uint32Array,
  { seed, tokensPerBatch }: Omit<PackRule, 'shuffleWindow'>,
): PackedBatch[] {
  const sorted = longestFirst(samples, tokens, seed)
  const full: PackedBatch[] = []
  const rest: PackedBatch[] = []
  for (let start = 0; start < sorted.length; ) {
    const rung = rungOf(tokens[sorted[start]])
    const rows = fullRows(rung, tokensPerBatch)
    const taken = sorted.subarray(start, start + rows)
    const shape = shapeFor(taken.length, rung, tokensPerBatch)
    const place = taken.length === rows ? full : rest
    place.push({ samples: taken, shape })
    start += taken.length
  }
  const order = Uint32Array.from(full.keys())
  shuffle(order, seedFor(seed, 1))
  return [...Array.from(order, (batch) => full[batch]), ...rest]
}

/** Equal lengths in an order of the seed's. */
function longestFirst(samples: Uint32Array, tokens: Uint32Array, seed: number): Uint32Array {
  const shuffled = samples.slice()
  shuffle(shuffled, seed)
  // Length and place as one number: sorting numbers needs no comparison function, which is slow.
  const count = shuffled.length
  const longest = shuffled.reduce((most, sample) => Math.max(most, tokens[sample]), 0)
  const keys = new Float64Array(count)
  for (let i = 0; i < count; i++) keys[i] = (longest - tokens[shuffled[i]]) * count + i
  keys.sort()
  const sorted = new Uint32Array(count)
  for (let i = 0; i < count; i++) sorted[i] = shuffled[keys[i] % count]
  return sorted
}
