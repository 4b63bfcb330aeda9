import { seededRandom } from './clock.ts'

/** Fisher-Yates from the end, in place, on Mulberry32: the same seed gives the same order. */
export function shuffle(values: Uint32Array, seed: number): void {
  const random = seededRandom(seed)
  for (let i = values.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1))
    const value = values[i]
    values[i] = values[other]
    values[other] = value
  }
}

/** A seed made of another and a number, such that neighbours do not resemble each other. */
export const seedFor = (seed: number, number: number): number =>
  mixed((seed ^ Math.imul(number + 1, 0x9e3779b1)) >>> 0)

/**
 * A bijection of 32 bits: every bit of the result depends on all.
 *
 * @source  MurmurHash3's finalizer (Appleby, public domain)
 */
export function mixed(word: number): number {
  let bits = word ^ (word >>> 16)
  bits = Math.imul(bits, 0x85ebca6b)
  bits ^= bits >>> 13
  bits = Math.imul(bits, 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
