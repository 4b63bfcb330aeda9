/** Planned batches over small datasets, for tests. */
import { PlannedBatches } from '../../actors/reader/planned.ts'
import type { Batch } from '../../protocol/sample.ts'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import { planBatches } from '../../src/dataset/plan.ts'
import { RowHashes } from '../../src/dataset/row-hashes.ts'
import type { Dataset } from '../../src/dataset/rows.ts'
import { openDataset } from '../../src/dataset/shards.ts'

export interface PlanningOptions {
  readonly tokenBudget?: number
  readonly maxTokens?: number
  readonly vocab?: number
  readonly limit?: number
  /** Hashes of what need not be computed. */
  readonly known?: readonly string[]
  /** Gathered by an earlier start. */
  readonly hashes?: RowHashes
}

/** A dataset that counts the rows it is asked for. */
export function openCounted(path: string): { dataset: Dataset; reads: number[] } {
  const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
  const dataset = openDataset(path, { columns })
  const reads: number[] = []
  const read = dataset.read.bind(dataset)
  dataset.read = (row) => {
    reads.push(row)
    return read(row)
  }
  return { dataset, reads }
}

export function planned(dataset: Dataset, options: PlanningOptions = {}) {
  const { tokenBudget = 16, maxTokens = 16, vocab = 1000, limit = null } = options
  const lengths = dataset.lengths()
  const budgets = { tokenBudget, outputBytesPerToken: 1, outputBytesMax: 1e9 }
  const plan = planBatches(lengths, { ...budgets, maxTokens, seed: 0, limit })
  const hashes = options.hashes ?? new RowHashes(dataset.rows, Buffer.alloc(32))
  const parts = { dataset, lengths, plan, hashes, limits: { vocab, maxTokens } }
  const known = Buffer.from((options.known ?? []).join(''), 'hex')
  return { batches: new PlannedBatches(parts, known), hashes }
}

/** All batches in which something is wanted, in the order of the plan. */
export const firsts = (batches: PlannedBatches): Batch[] =>
  Array.from({ length: batches.planned }, (_, index) => batches.first(index)).filter(
    (batch) => batch !== null,
  )

export const hashOfIds = (ids: readonly number[]): string =>
  contentHash(Int32Array.from(ids)).toString('hex')

/** The hashes that batches want, sorted. */
export const wanted = (batches: readonly Batch[]): string[] =>
  batches.flatMap(({ rows }) => rows.filter((row) => row.wanted).map((row) => row.hash)).sort()
