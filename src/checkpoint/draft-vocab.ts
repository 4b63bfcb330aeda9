/** Which tokens the drafter of a checkpoint drafts, read without the rest of its tensors. */
import { Failure } from '../failure.ts'
import { type DraftVocab, draftVocabOf } from '../models/draft-vocab.ts'
import type { ObjectStore } from '../store/store.ts'
import { elements } from '../tensor/tensor.ts'
import { readHeader, readPart } from './headers.ts'
import type { WholeCheckpoint } from './list.ts'
import { fileKey } from './names.ts'

/**
 * @param checkpoint  one whose drafter drafts from a part of the vocabulary
 * @throws            Failure `corrupt`: its file is gone or cut short, or has no such maps;
 *                    `invalid`: the maps disagree
 */
export async function draftVocabIn(
  store: ObjectStore,
  checkpoint: WholeCheckpoint,
): Promise<DraftVocab> {
  const key = fileKey(checkpoint.name, 'model')
  const tensors = await readHeader(store, checkpoint, 'model')
  const map = async (name: string) => {
    const info = tensors.get(name)
    if (info) return { ...info, name, data: await readPart(store, key, info) }
    throw new Failure(
      'corrupt',
      `a checkpoint lacks its draft vocabulary. key=${key}, map=${name}`,
      {
        remedy: 'Go on from another checkpoint.',
      },
    )
  }
  return draftVocabOf(elements(await map('d2t'), 'I64'), elements(await map('t2d'), 'BOOL'))
}
