import { supervisedCounts } from '../../src/dataset/token-counts.ts'
import { Failure } from '../../src/failure.ts'
import { mostFrequent } from '../../src/models/draft-vocab.ts'
import { claimTraining } from '../../src/run/training-record.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Prepared, PreparedTraining } from './preflight.ts'

/**
 * The training that was prepared, with what the store knows of it or is told now.
 *
 * @throws  Failure `invalid`: it was begun with another draft vocabulary; `corrupt`
 */
export async function begunTraining(
  store: ObjectStore,
  { dataset, target }: Pick<Prepared, 'dataset' | 'target'>,
  prepared: PreparedTraining,
): Promise<PreparedTraining> {
  const { anew, drafter, from, train } = prepared
  const chooseVocab = async () => {
    const counts = await supervisedCounts(dataset, target.vocabSize)
    return mostFrequent(counts, drafter.draftVocabSize ?? target.vocabSize)
  }
  const record = await claimTraining(store, { drafter, anew, from, chooseVocab })
  const found = record.draftVocab?.length ?? null
  if (found === train.draftVocab) {
    const { draftVocab, training: id } = record
    return { ...prepared, id, draftVocab, from: record.from }
  }
  const facts = `train.draftVocab=${train.draftVocab}, training=${found}`
  throw new Failure('invalid', `the training was begun with another draft vocabulary. ${facts}`, {
    remedy: 'Set train.draftVocab as it was, or begin another training with `train --new`.',
  })
}
