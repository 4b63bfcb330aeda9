import type { ChildSpec } from '../../protocol/child.ts'
import type { Config } from '../../src/config/schema.ts'
import type { Expected } from '../../src/sample/earlier.ts'
import type { StorePlace } from '../../src/store/patient.ts'

export interface ImporterInput extends Expected {
  /** The folder whose files are taken; they stay where they are. */
  readonly dir: string
  readonly work: string
  readonly store: StorePlace
  /** Tries of one request to the store. */
  readonly attempts: number
  readonly dataset: Config['dataset']
  /** The dataset's first rows only; null for all. */
  readonly limit: number | null
  readonly vocab: number
  /** Bytes that the disk of the spool keeps free. */
  readonly keepFree: number
  /** Bytes that the spool may hold. */
  readonly maxBytes: number
  /** Where each file that was left alone is named, with the reason: a JSON line each. */
  readonly leftAlone: string
}

/** Files made before → files in the spool, where a row of the dataset proves them. */
export const importer = (input: ImporterInput): ChildSpec => ({
  id: 'importer',
  entry: new URL('./worker.js', import.meta.url),
  input,
  asks: ['ledger'],
  restart: 'always',
  readyMs: 120_000, // the names of a million files, and the offsets of as many rows
  drainMs: 120_000, // the files in hand, and the row hashes are saved
  drainsAfter: [],
  heartbeatMs: 30_000,
})
