import { identityOf } from '../../src/checkpoint/accept.ts'
import { draftVocabIn } from '../../src/checkpoint/draft-vocab.ts'
import { requireGoesOn } from '../../src/checkpoint/restore.ts'
import { supervisedCounts } from '../../src/dataset/token-counts.ts'
import { Failure } from '../../src/failure.ts'
import { mostFrequent } from '../../src/models/draft-vocab.ts'
import { claimTraining } from '../../src/run/training-record.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Prepared, PreparedTraining } from './preflight.ts'

/**
 * The training that was prepared, with what the store knows of it or is told now.
 *
 * @throws  Failure `invalid`: it was begun with another draft vocabulary, or what it would go on
 *          from is of another drafter or target; `corrupt`
 */
export async function begunTraining(
  store: ObjectStore,
  { dataset, identity, target }: Pick<Prepared, 'dataset' | 'identity' | 'target'>,
  prepared: PreparedTraining,
): Promise<PreparedTraining> {
  const { anew, drafter, from, id, train } = prepared
  const chooseVocab = async () => {
    // What it was trained to draft, whatever the training before this one drafts from.
    if (from !== null) return await draftVocabIn(store, from)
    const counts = await supervisedCounts(dataset, target.vocabSize)
    return mostFrequent(counts, drafter.draftVocabSize ?? target.vocabSize)
  }
  const { layers, target: fingerprint } = identity
  const expected = identityOf(drafter, { fingerprint, layers })
  // Before it is recorded that a training begins from it.
  await requireGoesOn(store, { training: null, from, expected })
  const record = await claimTraining(store, { id, drafter, anew, from, chooseVocab })
  const found = record.draftVocab?.length ?? null
  if (found === train.draftVocab) {
    await requireGoesOn(store, { ...record, expected })
    const { draftVocab, training } = record
    return { ...prepared, id: training, draftVocab, from: record.from }
  }
  const facts = `train.draftVocab=${train.draftVocab}, training=${found}`
  throw new Failure('invalid', `the training was begun with another draft vocabulary. ${facts}`, {
    remedy: 'Set train.draftVocab as it was, or begin another training with `train --new`.',
  })
}
