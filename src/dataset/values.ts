/** Bytes of Arrow values to numbers. No BigInt: 64-bit integers are read as pairs of words. */
import type { IntType, ItemType } from './columns.ts'

/**
 * Integers of any width to int32. Every value outside [0, 2^31) becomes negative, so that one look
 * at the signs tells whether all were in range.
 *
 * @param bytes  `count` values, little-endian, at the start of a buffer of their own; the result of
 *               32-bit values lies in it
 */
export function toInt32(
  bytes: Uint8Array<ArrayBuffer>,
  item: IntType,
  count: number,
): Int32Array<ArrayBuffer> {
  switch (item.bits) {
    case 64: {
      const words = new Int32Array(bytes.buffer, 0, 2 * count)
      const out = new Int32Array(count)
      for (let i = 0; i < count; i++) {
        out[i] = words[2 * i + 1] === 0 ? words[2 * i] : -1
      }
      return out
    }
    case 32:
      // Unsigned values from 2^31 on read as negative, as they should.
      return new Int32Array(bytes.buffer, 0, count)
    case 16:
      return new Int32Array(new (item.signed ? Int16Array : Uint16Array)(bytes.buffer, 0, count))
    case 8:
      return new Int32Array(new (item.signed ? Int8Array : Uint8Array)(bytes.buffer, 0, count))
  }
}

/**
 * Numbers or bits to 0 (zero, false) and 1 (anything else).
 *
 * @param bytes  the values, little-endian
 * @param range  which of them, counted from the start of `bytes`
 */
export function toFlags(
  bytes: Uint8Array<ArrayBuffer>,
  item: ItemType,
  range: { readonly from: number; readonly count: number },
): Uint8Array<ArrayBuffer> {
  const flags = new Uint8Array(range.count)
  const { from, count } = range
  if (item.bits === 1) {
    for (let i = 0; i < count; i++) flags[i] = isSet(bytes, from + i) ? 1 : 0
    return flags
  }
  const width = item.bits / 8
  for (let i = 0; i < count; i++) {
    const start = (from + i) * width
    for (let k = start; k < start + width; k++) if (bytes[k] !== 0) flags[i] = 1
  }
  return flags
}

/** Bits count from the least significant of the first byte. */
export const isSet = (bits: Uint8Array, index: number): boolean =>
  ((bits[index >> 3] >> (index & 7)) & 1) === 1

export function hasNegative(values: Int32Array): boolean {
  for (const value of values) if (value < 0) return true
  return false
}
