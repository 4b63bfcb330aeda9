/** Embedding and head, as a training graph is fed them. */
import { Failure } from '../failure.ts'
import { frozenNames } from '../models/frozen.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import type { LearnerParts } from './learner.ts'
import { draftHeadName } from './loss-graph.ts'

/** A draft vocabulary leaves its own rows of the head. */
export function frozenOf({ drafter, frozen, tiedEmbeddings, draftVocab }: LearnerParts): Feeds {
  const { vocabSize, hiddenSize, draftVocabSize } = drafter
  const found = draftVocab?.ids.length ?? null
  if (found !== draftVocabSize) {
    const facts = `want=${draftVocabSize}, found=${found}`
    throw new Failure('invalid', `the draft vocabulary is not the drafter's. ${facts}`)
  }
  const rows = (data: Float32Array): Feed => {
    return { dtype: 'F32', shape: [data.length / hiddenSize, hiddenSize], data }
  }
  const names = frozenNames(tiedEmbeddings)
  const tensor = (name: string): Float32Array => {
    const data = frozen.get(name)
    if (data?.length === vocabSize * hiddenSize) return data
    const want = `[${vocabSize}, ${hiddenSize}]`
    throw new Failure('invalid', `the target lacks a tensor. tensor=${name}, want=${want}`)
  }
  const head = tensor(names.head)
  return {
    [names.embedding]: rows(tensor(names.embedding)),
    ...(draftVocab
      ? { [draftHeadName]: rows(draftVocab.rowsOf(head)) }
      : { [names.head]: rows(head) }),
  }
}
