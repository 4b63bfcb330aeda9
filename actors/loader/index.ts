import type { ChildSpec } from '../../protocol/child.ts'
import type { Config } from '../../src/config/schema.ts'
import type { TrainConfig } from '../../src/config/train-schema.ts'
import type { CacheLimits } from '../../src/feed/sample-cache.ts'
import type { RunIdentity } from '../../src/run/identity.ts'
import type { StorePlace } from '../../src/store/patient.ts'

export interface LoaderInput {
  readonly work: string
  readonly store: StorePlace
  /** Tries of one request to the store. */
  readonly attempts: number
  /** How long the store may be out of reach. */
  readonly deadlineMinutes: number
  readonly dataset: Config['dataset']
  /** The dataset's first rows only; null for all. */
  readonly limit: number | null
  readonly vocab: number
  readonly maxTokens: number
  readonly identity: RunIdentity
  readonly train: TrainConfig
  /** Whether the run still stores samples, which belong to the first epoch as they come. */
  readonly follows: boolean
  /** Fetched samples that are kept on this disk for later epochs; null: none. */
  readonly cache: CacheLimits | null
}

/** Stored samples → packed batches, read ahead. It is asked; it does not push. */
export const loader = (
  input: LoaderInput,
  { drainsAfter }: { readonly drainsAfter: readonly string[] },
): ChildSpec => ({
  id: 'loader',
  entry: new URL('./worker.js', import.meta.url),
  input,
  asks: ['ledger'],
  restart: 'always',
  readyMs: 300_000, // the manifest, or the next slice of the dataset's rows
  drainMs: 10_000, // nothing is held that is not kept elsewhere
  drainsAfter,
  heartbeatMs: 30_000,
})
