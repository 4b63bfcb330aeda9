import { datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import { planBatches } from '../../src/dataset/plan.ts'
import type { RowHashes } from '../../src/dataset/row-hashes.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { systemDisk } from '../../src/disk.ts'
import type { Log } from '../../src/log.ts'
import { openRowHashes } from '../../src/run/kept-hashes.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { ReaderInput } from './index.ts'
import { PlannedBatches } from './planned.ts'

export interface OpenedDataset {
  readonly hashes: RowHashes
  readonly rows: number
  readonly tokens: number
  /** Once it is known what need not be computed: 16 bytes a sample. */
  readonly batches: (known: Uint8Array) => PlannedBatches
}

export interface ReaderSurroundings extends Surroundings {
  readonly openDataset: typeof openDataset
}

export interface PlannedTools {
  readonly store: ObjectStore
  readonly log: Log
  /** Default: the machine's disk. */
  readonly around?: Pick<ReaderSurroundings, 'openDataset' | 'disk'>
}

const here = { openDataset, disk: systemDisk }

/** Opens the dataset and makes its plan; reads offsets, not rows. */
export async function openPlanned(
  input: ReaderInput,
  { store, log, around = here }: PlannedTools,
): Promise<OpenedDataset> {
  const { path, split, columns } = input.dataset
  const dataset = around.openDataset(path, { split: split ?? null, columns })
  const lengths = dataset.lengths()
  const { tokenBudget, maxTokens, outputBytesMax, limit, seed } = input.plan
  const { outputBytesPerToken } = input
  const plan = planBatches(lengths, {
    tokenBudget,
    maxTokens,
    outputBytesPerToken,
    outputBytesMax,
    seed,
    limit,
  })
  const fingerprint = datasetFingerprint(dataset, lengths, columns.inputIds)
  const hashes = await openRowHashes(
    { rows: dataset.rows, fingerprint },
    { work: input.work, store, disk: around.disk },
    log,
  )
  const limits = { vocab: input.vocab, maxTokens }
  return {
    hashes,
    rows: Math.min(dataset.rows, limit ?? dataset.rows),
    tokens: plannedTokens(lengths, plan),
    batches: (known) => new PlannedBatches({ dataset, lengths, plan, hashes, limits }, known),
  }
}

function plannedTokens(lengths: Int32Array, plan: ReturnType<typeof planBatches>): number {
  let tokens = 0
  for (let batch = 0; batch < plan.batches; batch++) {
    for (const row of plan.rows(batch)) tokens += lengths[row]
  }
  return tokens
}
