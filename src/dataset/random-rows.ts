/** Rows of chance, for benchmarks. Lengths are log-normal, as those of conversations nearly are. */
import { seededRandom } from '../clock.ts'
import type { DatasetRow } from './write.ts'

export interface RandomRowsOptions {
  readonly rows: number
  readonly seed: number
  readonly vocab: number
  /** Of the log-normal, before lengths are cut at `tokensMin` and `tokensMax`. */
  readonly meanTokens: number
  /** Of the lengths' logarithm. */
  readonly sigma: number
  readonly tokensMin: number
  readonly tokensMax: number
}

/**
 * The first 5 to 60 in a hundred tokens of a row are prompt: their mask is 0, the others' 1. The
 * same options give the same rows. A row's arrays are valid until the next row is asked for.
 */
export function* randomRows(options: RandomRowsOptions): Generator<DatasetRow, void> {
  const { rows, seed, vocab, meanTokens, sigma, tokensMin, tokensMax } = options
  const random = seededRandom(seed)
  // The mean of a log-normal is exp(mu + sigma²/2).
  const mu = Math.log(meanTokens) - sigma ** 2 / 2
  const ids = new Int32Array(tokensMax)
  const mask = new Uint8Array(tokensMax)
  for (let row = 0; row < rows; row++) {
    const drawn = Math.floor(Math.exp(mu + sigma * normal(random)))
    const length = Math.min(tokensMax, Math.max(tokensMin, drawn))
    for (let i = 0; i < length; i++) ids[i] = random() * vocab
    const prompt = Math.floor(length * (0.05 + 0.55 * random()))
    mask.fill(0, 0, prompt).fill(1, prompt, length)
    yield { inputIds: ids.subarray(0, length), lossMask: mask.subarray(0, length) }
  }
}

/** One draw of the standard normal distribution (Box and Muller). */
function normal(random: () => number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()))
  return radius * Math.cos(2 * Math.PI * random())
}
