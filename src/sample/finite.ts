import type { StoredDType } from '../models/hidden-states.ts'
import { statesDType } from '../tensor/dtype.ts'
import { hasNonFinite } from '../tensor/finite.ts'

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
    const bytes = new Uint8Array(states.buffer, states.byteOffset, states.byteLength)
    if (!hasNonFinite(bytes, statesDType[dtype])) return undefined
    const exponent = dtype === 'bf16' ? 0x7f80 : 0x7c00
    for (let i = 0; i < states.length; i++) if ((states[i] & exponent) === exponent) count(i)
  }
  return found ? bad : undefined
}

/** In words, by the names of the captures. */
export function nonFiniteText(counts: readonly number[], captures: readonly string[]): string {
  const where = counts.flatMap((count, i) => (count > 0 ? [`${captures[i]}: ${count}`] : []))
  return `values that are NaN or infinite (${where.join(', ')})`
}
