import type { StoredDType } from '../../src/models/hidden-states.ts'

/**
 * One captured layer of a padded batch, as the model gave it: [rows, width, hidden], row-major;
 * 16-bit patterns for bf16 and f16, else f32.
 */
export type Capture = Uint16Array | Float32Array

export interface CaptureShape {
  readonly rows: number
  /** Tokens of the longest row: every row is padded to it, on the right. */
  readonly width: number
  readonly hidden: number
}

/** Which capture is not as large as the batch; null where all are. */
export function sizeFault(
  captures: readonly Capture[],
  shape: CaptureShape,
  names: readonly string[],
): string | null {
  const want = shape.rows * shape.width * shape.hidden
  const at = names.findIndex((_, i) => captures[i]?.length !== want)
  if (at < 0) return null
  const found = captures[at]?.length ?? 'nothing'
  const facts = `layer=${names[at]}, want=${want}, found=${found}`
  return `the model gave too few or too many values. ${facts}`
}

/**
 * Joins one row's layers: [tokens, layers, hidden], padding left out.
 *
 * @param captures  one a layer, in the order stored
 * @param row       index in the batch
 * @returns         the bytes, little-endian, in a buffer of their own
 */
export function joinLayers(
  captures: readonly Capture[],
  shape: CaptureShape,
  row: { readonly index: number; readonly tokens: number },
): Capture {
  const { width, hidden } = shape
  const layers = captures.length
  const length = row.tokens * layers * hidden
  const joined =
    captures[0] instanceof Float32Array ? new Float32Array(length) : new Uint16Array(length)
  for (let layer = 0; layer < layers; layer++) {
    const capture = captures[layer]
    for (let token = 0; token < row.tokens; token++) {
      const from = (row.index * width + token) * hidden
      joined.set(capture.subarray(from, from + hidden), (token * layers + layer) * hidden)
    }
  }
  return joined
}

/**
 * How many values of a row are NaN or infinite, layer by layer; undefined where all are finite.
 *
 * @param joined  in a buffer of its own, as `joinLayers` gives it
 */
export function nonFinite(
  joined: Capture,
  shape: { readonly layers: number; readonly hidden: number },
  dtype: StoredDType,
): number[] | undefined {
  const bad = new Array<number>(shape.layers).fill(0)
  let found = false
  const count = (index: number) => {
    bad[Math.floor(index / shape.hidden) % shape.layers]++
    found = true
  }
  if (joined instanceof Float32Array) {
    for (let i = 0; i < joined.length; i++) if (!Number.isFinite(joined[i])) count(i)
  } else {
    const exponent = dtype === 'bf16' ? 0x7f80 : 0x7c00
    if (!hasFullExponent(joined, exponent)) return undefined
    for (let i = 0; i < joined.length; i++) if ((joined[i] & exponent) === exponent) count(i)
  }
  return found ? bad : undefined
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
