import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '../../src/clock.ts'
import { contentHash, datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import { RowHashes, rowHashesFile, rowHashesKey } from '../../src/dataset/row-hashes.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import type { EntryRows } from '../../src/manifest/entry.ts'
import { openStore } from '../../src/store/open.ts'
import { putBytes } from '../../src/store/put-confirmed.ts'
import { randomRows } from './manifest-rows.ts'
import { writeManifest } from './manifest-writer.ts'

/**
 * What a run's last hours would have put into its store, made up: the manifest of the first rows,
 * and the row hashes of all. Arguments: the store's URL and endpoint, the dataset, how many rows.
 */

const [, , url = '', endpoint = '', path = '', count = ''] = process.argv
const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
const dataset = openDataset(path, { columns })
const fingerprint = datasetFingerprint(dataset, dataset.lengths(), columns.inputIds)
const hashes = new RowHashes(dataset.rows, fingerprint)
for (let row = 0; row < dataset.rows; row++) {
  const sample = dataset.read(row)
  if ('unusable' in sample) throw new Error(`a row is no sample. row=${row}`)
  hashes.set(row, contentHash(sample.ids))
}

const random = seededRandom(0)
let next = 0
const rows = (wanted: number): EntryRows => {
  const made = randomRows(wanted, random)
  const bytes = new Uint8Array(made.words.buffer)
  for (let row = 0; row < wanted; row++) bytes.set(hashes.get(next++) ?? [], row * 16)
  return made
}
const store = await openStore(url, { endpoint })
await writeManifest(store, Number(count), { rows })

const folder = mkdtempSync(join(tmpdir(), 'draftsmith-bench-'))
hashes.save(rowHashesFile(folder))
await putBytes(store, rowHashesKey, readFileSync(rowHashesFile(folder)))
rmSync(folder, { recursive: true })
store.close()
process.stdout.write('{}')
