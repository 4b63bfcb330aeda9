import type { ChildSpec } from '../../protocol/child.ts'
import type { Config } from '../../src/config/schema.ts'
import type { RunPlan } from '../../src/run/identity.ts'
import type { StorePlace } from '../../src/store/patient.ts'

export interface ReaderInput {
  readonly dataset: Config['dataset']
  readonly plan: RunPlan
  readonly vocab: number
  /** What one padded token becomes: layers × hidden size × bytes a value. */
  readonly outputBytesPerToken: number
  readonly work: string
  readonly store: StorePlace
  /** Tries of one request to the store. */
  readonly attempts: number
}

/** Dataset rows → planned batches, less what the manifest holds. It is asked; it does not push. */
export const reader = (input: ReaderInput): ChildSpec => ({
  id: 'reader',
  entry: new URL('./worker.js', import.meta.url),
  input,
  asks: ['ledger'],
  restart: 'always',
  readyMs: 120_000, // the ledger's hashes, and the offsets of a million rows
  drainMs: 20_000, // the row hashes are saved
  drainsAfter: [],
  heartbeatMs: 30_000,
})
