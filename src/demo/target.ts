/** The demo's target: a Qwen3 of random weights, ten layers deep, small enough to make at once. */
import { writeRandomTarget } from '../models/random-target.ts'
import { demoVocab } from './dataset.ts'

/** Writes the same bytes every time, under 2 MB; the bytes of model.safetensors. */
export const writeDemoTarget = (dir: string): Promise<number> =>
  writeRandomTarget(dir, {
    layers: 10,
    hiddenSize: 96,
    intermediateSize: 192,
    vocabSize: demoVocab,
    heads: 6,
    kvHeads: 2,
    headDim: 16,
    dtype: 'BF16',
    seed: 1,
  })
