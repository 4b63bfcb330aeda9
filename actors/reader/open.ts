import { datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import { planBatches } from '../../src/dataset/plan.ts'
import { RowHashes, rowHashesFile, rowHashesKey } from '../../src/dataset/row-hashes.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { ReaderInput } from './index.ts'
import { PlannedBatches } from './planned.ts'

export interface OpenedDataset {
  readonly hashes: RowHashes
  readonly rows: number
  readonly tokens: number
  /** Once it is known what need not be computed: 16 bytes a sample. */
  readonly batches: (known: Uint8Array) => PlannedBatches
}

/** Opens the dataset and makes its plan; reads offsets, not rows. */
export async function openPlanned(
  input: ReaderInput,
  store: ObjectStore,
  log: Log,
): Promise<OpenedDataset> {
  const { path, split, columns } = input.dataset
  const dataset = openDataset(path, { split: split ?? null, columns })
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
  const hashes = await findHashes({ rows: dataset.rows, fingerprint }, input.work, store, log)
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

/** From this machine, else from the store; an empty table where neither has them for these rows. */
async function findHashes(
  of: { readonly rows: number; readonly fingerprint: Buffer },
  work: string,
  store: ObjectStore,
  log: Log,
): Promise<RowHashes> {
  const tries = [
    async () => RowHashes.load(rowHashesFile(work), of.rows, of.fingerprint),
    async () => {
      const bytes = await store.get(rowHashesKey)
      return bytes && RowHashes.decode(bytes, of.rows, of.fingerprint)
    },
  ]
  for (const attempt of tries) {
    try {
      const found = await attempt()
      if (found) return found
    } catch (error) {
      if (!isFailure(error, 'corrupt')) throw error
      log.warn({ err: error }, 'row hashes are not of use')
    }
  }
  log.info({ rows: of.rows }, 'rows are hashed as they are read')
  return new RowHashes(of.rows, of.fingerprint)
}
