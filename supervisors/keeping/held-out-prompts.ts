import { join } from 'node:path'
import { parseConfig } from '../../src/config/load.ts'
import { datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import { RowHashes } from '../../src/dataset/row-hashes.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { promptsOfRows } from '../../src/decode/row-prompts.ts'
import { Failure } from '../../src/failure.ts'
import { isHeldOut, type Split } from '../../src/feed/split.ts'
import type { Log } from '../../src/log.ts'
import { findRowHashes } from '../../src/run/kept-hashes.ts'
import { configKey } from '../../src/run/stored-run.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { fetchedDataset } from './fetched-dataset.ts'

/** Prompts that a training has not seen: of the samples that it held out. */

export interface HeldOutWanted {
  readonly store: ObjectStore
  readonly configText: string
  readonly work: string
  readonly split: Split
  readonly vocabSize: number
  readonly limit: number
  /** In tokens. */
  readonly promptMax: number
  readonly log: Pick<Log, 'info'>
}

/**
 * The dataset is fetched into the work folder, or is there already.
 *
 * @throws  Failure `invalid`: no sample that is held out has a prompt that will do
 */
export async function heldOutPrompts(wanted: HeldOutWanted): Promise<number[][]> {
  const { store, work, configText, split, vocabSize } = wanted
  const { config } = parseConfig(configText, { name: `${store.url}/${configKey}`, base: work })
  const { columns } = config.dataset
  const path = await fetchedDataset(store, join(work, 'dataset'), wanted.log)
  const dataset = openDataset(path, { split: null, columns })
  const fingerprint = datasetFingerprint(dataset, dataset.lengths(), columns.inputIds)
  const found = await findRowHashes({ work, store }, (bytes) =>
    RowHashes.decode(bytes, dataset.rows, fingerprint),
  )
  const prompts = promptsOfRows({
    dataset,
    hashes: found?.hashes ?? new RowHashes(dataset.rows, fingerprint),
    limits: { vocab: vocabSize, maxTokens: config.extract.maxTokens },
    isWanted: (hash) => isHeldOut(split, hash),
    limit: wanted.limit,
    promptMax: wanted.promptMax,
  })
  if (prompts.length > 0) return prompts
  const facts = `rows=${dataset.rows}, held out=${split.heldOut}, room for=${wanted.promptMax}`
  throw new Failure('invalid', `no sample that was held out has a prompt. ${facts}`, {
    remedy: 'Give prompts with --prompts, or set --max-new-tokens lower.',
  })
}
