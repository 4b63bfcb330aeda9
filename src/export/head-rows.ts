import { Failure } from '../failure.ts'
import type { DraftVocab } from '../models/draft-vocab.ts'
import { frozenNames } from '../models/frozen.ts'
import type { Target } from '../models/target.ts'
import { readTensor } from '../safetensors/read.ts'
import { float32Elements } from '../tensor/tensor.ts'

/**
 * A draft vocabulary's rows of its target's head.
 *
 * @returns  float32 [drafted, hidden]
 * @throws   Failure `invalid`: the target has no head, or one of another vocabulary
 */
export async function headRows(target: Target, vocab: DraftVocab): Promise<Float32Array> {
  const { head: name } = frozenNames(target.config.tiedEmbeddings)
  const weight = target.weights.tensors.get(name)
  const want = `${vocab.vocabSize},${target.hiddenSize}`
  if (weight?.shape.join() === want) {
    return vocab.rowsOf(float32Elements(await readTensor(weight.file, name)))
  }
  const facts = `dir=${target.dir}, tensor=${name}, want=[${want}], found=[${weight?.shape ?? ''}]`
  throw new Failure('invalid', `the target’s head is not that of the draft vocabulary. ${facts}`)
}
