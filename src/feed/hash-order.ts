/**
 * Content hashes in an order of their own, that of their bytes unless their first words are mixed.
 *
 * @param hashes   16 bytes each
 * @param wordFor  a bijection of 32 bits, for the first four bytes as a big-endian number
 * @returns        which hash comes when
 */
export function hashOrder(
  hashes: Uint8Array,
  wordFor: (first: number) => number = (first) => first,
): Uint32Array {
  const bytes = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length)
  const words = new Uint32Array(hashes.length / 16)
  for (let i = 0; i < words.length; i++) words[i] = wordFor(bytes.readUInt32BE(i * 16))
  const compare = (a: number, b: number): number =>
    words[a] - words[b] || bytes.compare(bytes, b * 16, b * 16 + 16, a * 16, a * 16 + 16)
  return Uint32Array.from(words.keys()).sort(compare)
}

/** The same hashes in another order. */
export function inOrder(hashes: Uint8Array, order: Uint32Array): Uint8Array<ArrayBuffer> {
  const sorted = new Uint8Array(order.length * 16)
  order.forEach((from, to) => {
    sorted.set(hashes.subarray(from * 16, from * 16 + 16), to * 16)
  })
  return sorted
}
