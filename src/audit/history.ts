/** Every line that the manifest's files still hold of one sample, and where each stands. */
import { eachOf } from '../each-of.ts'
import { hashWords } from '../hash-words.ts'
import type { ManifestEntry } from '../manifest/entry.ts'
import { rowEntry } from '../manifest/entry.ts'
import {
  parseSegmentKey,
  parseSnapshotKey,
  segmentsPrefix,
  snapshotsPrefix,
} from '../manifest/names.ts'
import { openObject, readersMax } from '../manifest/read.ts'
import type { ObjectStore } from '../store/store.ts'

export interface HistoryLine {
  /** The file that holds it. */
  readonly file: string
  /** Who wrote the segment; null for a snapshot, which has the lines of many. */
  readonly writer: string | null
  /** When the file was written, in milliseconds since the epoch, by the store's clock. */
  readonly at: number
  readonly entry: ManifestEntry
}

/**
 * Reads every segment and snapshot. Of what a compaction has removed, a snapshot holds the line
 * that won.
 *
 * @param hash  32 hexadecimal digits
 * @returns     the oldest first
 * @throws      Failure `corrupt`: a file is damaged
 */
export async function historyOf(store: ObjectStore, hash: string): Promise<HistoryLine[]> {
  const files = []
  for (const prefix of [segmentsPrefix, snapshotsPrefix]) {
    for await (const file of store.list(prefix)) {
      const known = parseSegmentKey(file.key) ?? parseSnapshotKey(file.key)
      if (known !== undefined) files.push(file)
    }
  }
  const lines: HistoryLine[] = []
  const words = hashWords(hash)
  await eachOf(files, readersMax, async ({ key, size, lastModified }) => {
    const opened = await openObject(store, { key, size })
    const writer = parseSegmentKey(key)?.writer ?? null
    await opened?.read((rows) => {
      for (let row = 0; row < rows.count; row++) {
        const at = row * 4
        if (rows.words[at] !== words[0] || !words.every((word, i) => rows.words[at + i] === word)) {
          continue
        }
        lines.push({ file: key, writer, at: lastModified, entry: rowEntry(rows, row) })
      }
    })
  })
  return lines.sort((a, b) => a.at - b.at || (a.file < b.file ? -1 : 1))
}
