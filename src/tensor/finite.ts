/** Whether stored values are numbers: of every byte that is read, so it looks at whole words. */
import { Failure } from '../failure.ts'

/** What hidden states are stored as. */
export type FloatType = 'BF16' | 'F16' | 'F32'

const floatBytes: { readonly [D in FloatType]: number } = { BF16: 2, F16: 2, F32: 4 }

/** Of each type, in a 32-bit word: the exponent of every value in it. */
const exponents: { readonly [D in FloatType]: readonly number[] } = {
  BF16: [0x7f80, 0x7f80_0000],
  F16: [0x7c00, 0x7c00_0000],
  F32: [0x7f80_0000],
}

/**
 * How many of the values are NaN or infinite: those whose exponent is full.
 *
 * @param bytes  whole values, little-endian, at any offset
 */
export function countNonFinite(bytes: Uint8Array, type: FloatType): number {
  if (!hasNonFinite(bytes, type)) return 0
  const words = wordsOf(bytes)
  let bad = 0
  for (const mask of exponents[type]) for (const word of words) if ((word & mask) === mask) bad++
  return bad
}

/** Whether there is any; `bytes` as above. It costs a fraction of what counting them does. */
export function hasNonFinite(bytes: Uint8Array, type: FloatType): boolean {
  if (bytes.length % floatBytes[type] !== 0) {
    throw new Failure('invalid', `bytes are no whole values. type=${type}, bytes=${bytes.length}`)
  }
  return hasFullExponent(wordsOf(bytes), exponents[type])
}

/**
 * All values of a word at once: one added to the lowest bit of a full exponent carries into the
 * sign's place, which the mask has cleared.
 */
function hasFullExponent(words: Int32Array, masks: readonly number[]): boolean {
  const mask = masks.reduce((all, one) => all | one)
  const lowest = masks.reduce((all, one) => all | (one & -one), 0)
  const signs = masks.reduce((all, one) => all | (one + (one & -one)), 0)
  let carried = 0
  for (let i = 0; i < words.length; i++) carried |= (words[i] & mask) + lowest
  return (carried & signs) !== 0
}

/** Padded with zeros to whole words, which are finite; copied only where it must be. */
function wordsOf(bytes: Uint8Array): Int32Array {
  const isWhole = bytes.byteOffset % 4 === 0 && bytes.length % 4 === 0
  if (isWhole) return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  const words = new Int32Array(Math.ceil(bytes.length / 4))
  new Uint8Array(words.buffer).set(bytes)
  return words
}
