/** A drafter's parameters: names and shapes as in z-lab's checkpoints, and their first values. */
import { seededRandom } from '../clock.ts'
import { Failure } from '../failure.ts'
import type { DrafterConfig } from './drafter-config.ts'
import { spread } from './spread.ts'

/** One parameter; all are trained, and float32 while they are. */
export interface DrafterTensor {
  readonly name: string
  readonly shape: readonly number[]
}

/** All that is trained: embedding and head are the target's. Matrices are [out, in]. */
export function drafterTensors(config: DrafterConfig): DrafterTensor[] {
  const { hiddenSize: hidden, intermediateSize: inner, headDim, targetLayerIds } = config
  const [queries, keys] = [config.heads * headDim, config.kvHeads * headDim]
  const layer = (i: number) =>
    [
      ['input_layernorm', [hidden]],
      ['self_attn.q_proj', [queries, hidden]],
      ['self_attn.k_proj', [keys, hidden]],
      ['self_attn.v_proj', [keys, hidden]],
      ['self_attn.o_proj', [hidden, queries]],
      ['self_attn.q_norm', [headDim]],
      ['self_attn.k_norm', [headDim]],
      ['post_attention_layernorm', [hidden]],
      ['mlp.gate_proj', [inner, hidden]],
      ['mlp.up_proj', [inner, hidden]],
      ['mlp.down_proj', [hidden, inner]],
    ].map(([name, shape]) => [`layers.${i}.${name}`, shape] as [string, number[]])
  const all: [string, number[]][] = [
    ['fc', [hidden, targetLayerIds.length * hidden]],
    ['hidden_norm', [hidden]],
    ...Array.from({ length: config.layers }, (_, i) => layer(i)).flat(),
    ['norm', [hidden]],
  ]
  return all.map(([name, shape]) => ({ name: `${name}.weight`, shape }))
}

/** What a checkpoint holds beside the parameters: the maps of a draft vocabulary. */
const draftVocabTensors = ({ draftVocabSize, vocabSize }: DrafterConfig): DrafterTensor[] =>
  draftVocabSize === null
    ? []
    : [
        { name: 'd2t', shape: [draftVocabSize] },
        { name: 't2d', shape: [vocabSize] },
      ]

/** The target's head, of those tokens alone: for readers that do not cut it themselves. */
export const draftHead = 'lm_head.weight'
const optionalTensors = ({ draftVocabSize, hiddenSize }: DrafterConfig): DrafterTensor[] =>
  draftVocabSize === null ? [] : [{ name: draftHead, shape: [draftVocabSize, hiddenSize] }]

/**
 * @param found  the tensors of a checkpoint
 * @param where  for the message
 * @throws       Failure `invalid`: some are missing, left over or of another shape; all are named
 */
export function requireTensors(
  config: DrafterConfig,
  found: ReadonlyMap<string, { readonly shape: readonly number[] }>,
  where: string,
): void {
  const all = [...drafterTensors(config), ...draftVocabTensors(config)]
  const missing = all.map(({ name }) => name).filter((name) => !found.has(name))
  all.push(...optionalTensors(config))
  const wanted = new Map(all.map(({ name, shape }) => [name, shape.join(', ')]))
  const extra = [...found.keys()].filter((name) => !wanted.has(name))
  const unfit = [...found].flatMap(([name, { shape }]) => {
    const want = wanted.get(name)
    const differs = want !== undefined && want !== shape.join(', ')
    return differs ? [`${name} want=[${want}] found=[${shape.join(', ')}]`] : []
  })
  const lists = Object.entries({ missing, extra, unfit }).filter(([, names]) => names.length > 0)
  if (lists.length === 0) return
  const facts = lists.map(([key, names]) => `${key}: ${names.join(', ')}`).join('; ')
  throw new Failure('invalid', `tensors are not those of the drafter. where=${where}, ${facts}`, {
    remedy: 'config.json and weights must belong together; quantized weights are not read.',
  })
}

/**
 * Norms at 1; matrices around 0, so that a product is about as large as what goes in: of a
 * deviation of 1 / √in. That is what transformers' 0.02 comes to in models of billions, and small
 * ones learn from it far sooner. The same seed gives the same values everywhere.
 */
export function initialDrafter(config: DrafterConfig, seed: number): Map<string, Float32Array> {
  const random = seededRandom(seed)
  const values = new Map<string, Float32Array>()
  for (const { name, shape } of drafterTensors(config)) {
    const count = shape.reduce((product, length) => product * length, 1)
    const norm = shape.length === 1
    const deviation = 1 / Math.sqrt(shape[shape.length - 1])
    values.set(name, norm ? new Float32Array(count).fill(1) : spread(random, count, deviation))
  }
  return values
}
