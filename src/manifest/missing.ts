/** Dataset less manifest: the work that is left. */
import { lost } from './entry.ts'
import type { EntryTable } from './table.ts'

/**
 * The rows of a dataset that no entry names as stored or quarantined, in their order. Rows that
 * share their token ids are missing together.
 *
 * @param hashes   16 bytes a row
 * @returns        row numbers
 */
export function missingRows(hashes: Uint8Array, table: EntryTable): Uint32Array {
  const words = wordsOver(hashes)
  const missing = new Uint32Array(words.length / 4)
  let count = 0
  for (let row = 0; row < missing.length; row++) {
    const found = table.findWords(words, row * 4)
    if (found < 0 || table.statusAt(found) === lost) missing[count++] = row
  }
  return missing.slice(0, count)
}

/** The same bytes as words, copied only where they do not lie at a word's border. */
function wordsOver(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
  return new Uint32Array(aligned.buffer, aligned.byteOffset, Math.floor(aligned.length / 16) * 4)
}
