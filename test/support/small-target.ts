/** A target that is made at once: ten layers of random weights, under 2 MB. */
import { writeRandomTarget } from '../../src/models/random-target.ts'

export const smallVocab = 512

/** Writes the same bytes every time. */
export const writeSmallTarget = (dir: string): Promise<number> =>
  writeRandomTarget(dir, {
    layers: 10,
    hiddenSize: 96,
    intermediateSize: 192,
    vocabSize: smallVocab,
    heads: 6,
    kvHeads: 2,
    headDim: 16,
    dtype: 'BF16',
    seed: 1,
  })
