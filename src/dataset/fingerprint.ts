/** What makes two samples the same, and two datasets. */
import { createHash } from 'node:crypto'
import { withFile } from './arrow-file.ts'
import type { Dataset } from './rows.ts'

/**
 * What a sample is stored under: the first 16 bytes of the SHA-256 of its token ids as
 * little-endian int32 (every platform that onnxruntime runs on is little-endian).
 *
 * @param ids  int32 [tokens]
 * @returns    16 bytes
 */
export const contentHash = (ids: Int32Array): Buffer =>
  createHash('sha256')
    .update(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength))
    .digest()
    .subarray(0, 16)

const blockBytes = 4096
/** Enough that a reordered or retokenized file of the same size differs in one of them. */
const blocksPerFile = 64

/**
 * Tells whether two datasets have the same rows in the same order, without reading them whole: the
 * number and lengths of rows, each file's name and size, and blocks sampled evenly over each.
 * Changes that leave all of these as they were go unseen; `save_to_disk` rewrites far more.
 *
 * @param lengths   as `dataset.lengths()` gives them
 * @param inputIds  the column's name: another column is another dataset
 * @returns         32 bytes
 */
export function datasetFingerprint(
  dataset: Dataset,
  lengths: Int32Array,
  inputIds: string,
): Buffer {
  const hash = createHash('sha256').update(JSON.stringify([inputIds, lengths.length]))
  hash.update(new Uint8Array(lengths.buffer, lengths.byteOffset, lengths.byteLength))
  for (const { path, relative, bytes } of dataset.files()) {
    hash.update(JSON.stringify([relative, bytes]))
    withFile(path, (file) => {
      const last = Math.max(0, bytes - blockBytes)
      for (let i = 0; i < blocksPerFile; i++) {
        const at = Math.floor((last * i) / (blocksPerFile - 1))
        hash.update(file.read(at, Math.min(blockBytes, bytes)))
        if (last === 0) break
      }
    })
  }
  return hash.digest()
}
