/** A content hash as tables of hashes compare it: a number costs less than a byte or a text. */

/**
 * @param hash  16 bytes, at any offset of their buffer, or 32 hexadecimal digits
 * @returns     the same bytes as four words of the machine's order
 */
export function hashWords(hash: Uint8Array | string): Uint32Array {
  const words = new Uint32Array(4)
  const bytes = typeof hash === 'string' ? Buffer.from(hash, 'hex') : hash
  new Uint8Array(words.buffer).set(bytes.subarray(0, 16))
  return words
}

/**
 * One of these words, without making anything. Every platform that onnxruntime runs on is
 * little-endian.
 *
 * @param at  where the word's first byte lies
 */
export const hashWord = (bytes: Uint8Array, at: number): number =>
  (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
