/**
 * A spooled file's name says all that can be known of it without opening it: its length and
 * checksum prove it whole, its hash and checksum are its key in the store.
 */

/** One finished sample file on local disk. */
export interface SpooledSample {
  /** The first 16 bytes, in hex, of the SHA-256 of its token ids as little-endian int32. */
  readonly hash: string
  readonly tokens: number
  readonly bytes: number
  /** CRC-32 (zlib's) of the whole file. */
  readonly crc32: number
}

const pattern = /^([0-9a-f]{32})-(\d{1,16})-(\d{1,16})-([0-9a-f]{8})\.safetensors$/
const tempPattern = /^\.[0-9a-f-]+\.safetensors\.[0-9a-f]{16}\.tmp$/

/** `<hash>-<tokens>-<bytes>-<crc32>.safetensors` */
export const spoolName = ({ hash, tokens, bytes, crc32 }: SpooledSample): string =>
  `${hash}-${tokens}-${bytes}-${crc32.toString(16).padStart(8, '0')}.safetensors`

/** A line of the manifest tells tokens in 32 bits. */
const tokensMax = 0xffff_ffff

/** Undefined for any name that no finished sample has. */
export function parseSpoolName(name: string): SpooledSample | undefined {
  const match = pattern.exec(name)
  if (!match?.[1] || !match[4]) return undefined
  const sample = {
    hash: match[1],
    tokens: Number(match[2]),
    bytes: Number(match[3]),
    crc32: Number.parseInt(match[4], 16),
  }
  // No line of a manifest can name a sample without a token or a byte.
  const isSample = sample.bytes > 0 && sample.tokens > 0 && sample.tokens <= tokensMax
  // Numbers that are spelt another way, or too big to be told apart, are not ours.
  return isSample && spoolName(sample) === name ? sample : undefined
}

/**
 * Such as no finished file has: hidden, and with another ending. `chance`: 16 hexadecimal digits.
 */
export const tempName = (name: string, chance: string): string => `.${name}.${chance}.tmp`

export const isTempName = (name: string): boolean => tempPattern.test(name)
