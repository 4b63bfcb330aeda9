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
