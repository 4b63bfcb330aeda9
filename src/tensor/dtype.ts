/** Element types, spelt and ordered as safetensors has them, and how much room they take. */

/**
 * Bits of one element. The order is the official package's own: its writer sorts by it, last first.
 *
 * @source  safetensors 0.8.0, the `Dtype` enumeration
 */
export const dtypeBits = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
} as const

/** An element type, as safetensors spells it. */
export type DType = keyof typeof dtypeBits

export const isDType = (name: string): name is DType => Object.hasOwn(dtypeBits, name)

/** What hidden states are stored as: from the configuration's spelling to that of safetensors. */
export const statesDType = { bf16: 'BF16', f16: 'F16', f32: 'F32' } as const
