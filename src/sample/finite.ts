import type { StoredDType } from '../models/hidden-states.ts'

/** Whether hidden states are numbers to learn from. */

/** Row-major; 16-bit patterns for bf16 and f16, else f32. */
export type StateValues = Uint16Array | Float32Array

/**
 * How many values of a sample are NaN or infinite, capture by capture; undefined where all are
 * finite.
 *
 * @param states  [tokens, layers, hidden], in a buffer of its own
 */
export function nonFinite(
  states: StateValues,
  shape: { readonly layers: number; readonly hidden: number },
  dtype: StoredDType,
): number[] | undefined {
  const bad = new Array<number>(shape.layers).fill(0)
  let found = false
  const count = (index: number) => {
    bad[Math.floor(index / shape.hidden) % shape.layers]++
    found = true
  }
  if (states instanceof Float32Array) {
    for (let i = 0; i < states.length; i++) if (!Number.isFinite(states[i])) count(i)
  } else {
    const exponent = dtype === 'bf16' ? 0x7f80 : 0x7c00
    if (!hasFullExponent(states, exponent)) return undefined
    for (let i = 0; i < states.length; i++) if ((states[i] & exponent) === exponent) count(i)
  }
  return found ? bad : undefined
}

/** In words, by the names of the captures. */
export function nonFiniteText(counts: readonly number[], captures: readonly string[]): string {
  const where = counts.flatMap((count, i) => (count > 0 ? [`${captures[i]}: ${count}`] : []))
  return `values that are NaN or infinite (${where.join(', ')})`
}

/**
 * Whether any pattern has all bits of its exponent set: NaN or infinity. Looks at two at a time,
 * since this passes over every value that is stored: one added to the lowest bit of a full exponent
 * carries into the sign's place, which the mask has cleared.
 */
function hasFullExponent(bits: Uint16Array, exponent: number): boolean {
  const lowest = exponent & -exponent
  const [mask, one] = [exponent, lowest].map((pattern) => pattern | (pattern << 16))
  const pairs = new Int32Array(bits.buffer, bits.byteOffset, bits.length >> 1)
  let carried = 0
  for (let i = 0; i < pairs.length; i++) carried |= (pairs[i] & mask) + one
  const last = bits.length % 2 === 1 ? bits[bits.length - 1] & exponent : 0
  return (carried & 0x80008000) !== 0 || last === exponent
}
