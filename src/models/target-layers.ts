import { Failure } from '../failure.ts'

/**
 * The layers that a drafter of a given depth looks at: ids spread evenly from 1 to depth − 3,
 * halves rounded to even; for one alone, the middle.
 *
 * @param target  `layers`: decoder layers of the target; `count`: how many to choose
 * @throws        Failure `invalid`: the target is too shallow to choose so many different ones
 * @source        z-lab/dflash `build_target_layer_ids`
 */
export function targetLayerIds({
  layers,
  count,
}: {
  readonly layers: number
  readonly count: number
}): number[] {
  const ids =
    count === 1
      ? [Math.floor(layers / 2)]
      : Array.from({ length: count }, (_, i) => roundHalfEven(1 + (i * (layers - 4)) / (count - 1)))
  // Of a target without a third layer from the end the rule makes ids that fall.
  const rising = ids.every((id, i) => id >= 0 && id < layers && (i === 0 || id > ids[i - 1]))
  if (count < 1 || !rising) {
    const facts = `layers=${layers}, want=${count} different ids, found=[${ids.join(', ')}]`
    throw new Failure(
      'invalid',
      `target is too shallow to choose its layers by the usual rule. ${facts}`,
      { remedy: `Name the layers in target.layers: different ids from 0 to ${layers - 1}.` },
    )
  }
  return ids
}

function roundHalfEven(value: number): number {
  const below = Math.floor(value)
  if (value - below !== 0.5) return Math.round(value)
  return below % 2 === 0 ? below : below + 1
}
