/** IEEE half ↔ float32: rounded to nearest, ties to even, with subnormals, up to infinity. */

/** Through its bits, because a float cannot tell one NaN from another. */
const scratch = new Float32Array(1)
const scratchBits = new Uint32Array(scratch.buffer)

function narrow(bits: number): number {
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00 | ((magnitude >>> 13) & 0x3ff)
  // 65520 lies halfway between the largest half, 65504, and what would be the next.
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  // From 2^-14 on the exponent moves from bias 127 to 15, and 13 bits of the mantissa go.
  if (magnitude >= 0x38800000) {
    return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
  }
  return sign | narrowToSubnormal(magnitude)
}

/** Below 2^-14 a half counts multiples of 2^-24: the nearest one, ties to even. */
function narrowToSubnormal(magnitude: number): number {
  // Up to 2^-25 zero is nearest, and at 2^-25 itself the even one.
  if (magnitude <= 0x33000000) return 0
  const mantissa = (magnitude & 0x7fffff) | 0x800000
  const dropped = 126 - (magnitude >>> 23)
  const odd = (mantissa >>> dropped) & 1
  return (mantissa + (1 << (dropped - 1)) - 1 + odd) >>> dropped
}

function widen(half: number): number {
  const sign = (half & 0x8000) << 16
  const exponent = half & 0x7c00
  if (exponent === 0x7c00) return sign | 0x7f800000 | ((half & 0x3ff) << 13)
  if (exponent !== 0) return sign | (((half & 0x7fff) << 13) + 0x38000000)
  const fraction = half & 0x3ff
  if (fraction === 0) return sign
  // A subnormal half is a normal float: its leading one becomes the implicit bit.
  const shift = Math.clz32(fraction) - 21
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)
}

/** @returns float16 bits, one for each value */
export function float32ToFloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const narrowed = new Uint16Array(values.length)
  for (let i = 0; i < narrowed.length; i++) narrowed[i] = narrow(bits[i])
  return narrowed
}

/** Exact; a NaN keeps its payload. */
export function float16ToFloat32(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const values = new Float32Array(halves.length)
  const bits = new Uint32Array(values.buffer)
  for (let i = 0; i < halves.length; i++) bits[i] = widen(halves[i])
  return values
}

/** One value's float16 bits. A double is rounded to float32 first, as everywhere else. */
export function toFloat16(value: number): number {
  scratch[0] = value
  return narrow(scratchBits[0])
}

/** The value of one float16's bits. */
export function fromFloat16(half: number): number {
  scratchBits[0] = widen(half)
  return scratch[0]
}
