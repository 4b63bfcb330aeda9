/** What a drafter borrows of its target, in memory: the embedding, and the head beside it. */
import { Failure } from '../failure.ts'
import { readTensor } from '../safetensors/read.ts'
import { bfloat16ToFloat32 } from '../tensor/bfloat16.ts'
import { float16ToFloat32 } from '../tensor/float16.ts'
import { elements, type Tensor } from '../tensor/tensor.ts'
import type { Target } from './target.ts'

/** onnxruntime-node takes no larger tensor from memory. */
const bytesMax = 4 * 2 ** 30

/** By the names of its checkpoint. */
export const frozenNames = (tiedEmbeddings: boolean) => ({
  embedding: 'model.embed_tokens.weight',
  head: tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight',
})

/**
 * @returns  float32 [vocab, hidden] by name
 * @throws   Failure `invalid`: the checkpoint lacks one, or it is too large or of another shape
 */
export async function readFrozen(target: Target): Promise<Map<string, Float32Array>> {
  const { tiedEmbeddings } = target.config
  const names = new Set(Object.values(frozenNames(tiedEmbeddings)))
  const tensors = new Map<string, Float32Array>()
  for (const name of names) tensors.set(name, await read(target, name))
  return tensors
}

async function read({ weights, vocabSize, hiddenSize, dir }: Target, name: string) {
  const weight = weights.tensors.get(name)
  const want = `[${vocabSize}, ${hiddenSize}]`
  const found = weight ? `[${weight.shape.join(', ')}]` : 'none'
  if (!weight || found !== want) {
    const facts = `dir=${dir}, tensor=${name}, want=${want}, found=${found}`
    throw new Failure('invalid', `the target's embedding cannot be used. ${facts}`, {
      remedy: 'Download the checkpoint again; config.json and weights must belong together.',
    })
  }
  const bytes = vocabSize * hiddenSize * Float32Array.BYTES_PER_ELEMENT
  if (bytes >= bytesMax) {
    const facts = `tensor=${name}, bytes=${bytes} in float32, at most=${bytesMax}`
    throw new Failure('invalid', `the target's embedding is too large to train with. ${facts}`)
  }
  return wide(await readTensor(weight.file, name))
}

function wide(tensor: Tensor): Float32Array {
  if (tensor.dtype === 'BF16') return bfloat16ToFloat32(elements(tensor, 'BF16'))
  if (tensor.dtype === 'F16') return float16ToFloat32(elements(tensor, 'F16'))
  return elements(tensor, 'F32')
}
