/**
 * bfloat16 ↔ float32. A bfloat16 is the upper half of a float32, so that widening is exact and only
 * narrowing rounds: to nearest, ties to even, which carries into the exponent and up to infinity.
 */

/** Through its bits, because a float cannot tell one NaN from another. */
const scratch = new Float32Array(1)
const scratchBits = new Uint32Array(scratch.buffer)

function narrow(bits: number): number {
  // A NaN with its payload in the lower half alone would become infinite: the quiet bit keeps it.
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16
}

/**
 * @param values  float32
 * @returns       bfloat16 bits, one for each value
 */
export function float32ToBfloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const narrowed = new Uint16Array(values.length)
  for (let i = 0; i < narrowed.length; i++) narrowed[i] = narrow(bits[i])
  return narrowed
}

/** Exact; a NaN keeps its payload. */
export function bfloat16ToFloat32(narrowed: Uint16Array): Float32Array<ArrayBuffer> {
  const values = new Float32Array(narrowed.length)
  const bits = new Uint32Array(values.buffer)
  for (let i = 0; i < narrowed.length; i++) bits[i] = narrowed[i] << 16
  return values
}

/** One value's bfloat16 bits. A double is rounded to float32 first, as everywhere else. */
export function toBfloat16(value: number): number {
  scratch[0] = value
  return narrow(scratchBits[0])
}

/** The value of one bfloat16's bits. */
export function fromBfloat16(narrowed: number): number {
  scratchBits[0] = narrowed << 16
  return scratch[0]
}
