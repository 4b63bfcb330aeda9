/** Which drafter a target gets, and whether a drafter that is there belongs to a target. */
import { Failure } from '../failure.ts'
import type { TargetConfig } from './config.ts'
import { type DrafterConfig, faultsOf } from './drafter-config.ts'

/** What a training chooses about its drafter; the rest is the target's. */
export interface DrafterChoice {
  readonly layers: number
  readonly blockSize: number
  /** The layers whose hidden states are kept, in the order kept. */
  readonly targetLayerIds: readonly number[]
  /** Null: the last id of the vocabulary, which most tokenizers leave unused. */
  readonly maskTokenId: number | null
  /** Where there is one, all layers but the last slide; of one layer alone, that one. */
  readonly slidingWindow: number | null
  readonly draftVocabSize: number | null
}

/**
 * A drafter of the target's own widths, as z-lab's are.
 *
 * @throws  Failure `invalid`: the choice does not go with the target; names all that is wrong
 */
export function drafterConfigOf(target: TargetConfig, choice: DrafterChoice): DrafterConfig {
  const { layers, slidingWindow } = choice
  const slides = (layer: number) => slidingWindow !== null && (layers === 1 || layer < layers - 1)
  const { hiddenSize, intermediateSize, vocabSize, heads, kvHeads, headDim } = target
  const config: DrafterConfig = {
    layers,
    ...{ hiddenSize, intermediateSize, vocabSize, heads, kvHeads, headDim },
    rmsNormEps: target.rmsNormEps,
    rope: target.rope,
    maxPositions: target.maxPositions,
    blockSize: choice.blockSize,
    maskTokenId: choice.maskTokenId ?? vocabSize - 1,
    targetLayerIds: choice.targetLayerIds,
    targetLayers: target.layers,
    layerTypes: Array.from({ length: layers }, (_, i) =>
      slides(i) ? 'sliding_attention' : 'full_attention',
    ),
    slidingWindow,
    draftVocabSize: choice.draftVocabSize,
  }
  const faults = faultsOf(config)
  if (faults.length === 0) return config
  throw new Failure('invalid', `no such drafter can be trained. ${faults.join('; ')}`, {
    remedy:
      'Set train.layers, train.blockSize, train.slidingWindow, train.draftVocab, ' +
      'train.maskTokenId to fit it.',
  })
}

/** @throws  Failure `invalid`: the drafter is another target's; each differing value is named */
export function requireSameTarget(
  drafter: DrafterConfig,
  target: Pick<TargetConfig, 'hiddenSize' | 'vocabSize' | 'layers'>,
): void {
  const pairs = {
    hidden_size: [target.hiddenSize, drafter.hiddenSize],
    vocab_size: [target.vocabSize, drafter.vocabSize],
    num_target_layers: [target.layers, drafter.targetLayers],
  }
  const differing = Object.entries(pairs).filter(([, [want, found]]) => want !== found)
  if (differing.length === 0) return
  const facts = differing.map(([key, [want, found]]) => `${key}: want=${want}, found=${found}`)
  throw new Failure('invalid', `drafter belongs to another target. ${facts.join('; ')}`, {
    remedy: 'Use the target that the drafter was trained for.',
  })
}

/**
 * @param captured  ids of the target's layers whose hidden states are kept, in the order kept
 * @returns         for each of the drafter's layer ids, at which place it is kept
 * @throws          Failure `invalid`: layers that the drafter looks at are not among them
 */
export function captureSlots(drafter: DrafterConfig, captured: readonly number[]): number[] {
  const lacking = drafter.targetLayerIds.filter((layer) => !captured.includes(layer))
  if (lacking.length > 0) {
    const facts = `want=[${drafter.targetLayerIds.join(', ')}], found=[${captured.join(', ')}]`
    const missing = `missing=[${lacking.join(', ')}]`
    throw new Failure(
      'invalid',
      `the drafter looks at layers that were not kept. ${facts}, ${missing}`,
      { remedy: 'Extract again with target.layers as the drafter has them, or train another.' },
    )
  }
  return drafter.targetLayerIds.map((layer) => captured.indexOf(layer))
}
