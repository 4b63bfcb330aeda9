/** Attention of so many blocks at once that its scores never take more than is given. */
import { type Builder, lengths } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'
import { attended, attendedBack, type BlockAttentionInputs } from './block-attention.ts'
import { composite } from './composite.ts'

interface Settings {
  readonly scale: number
  /** At least 1. */
  readonly blocksAtOnce: number
}

/**
 * The same as `blockAttention`, some blocks after the others. Shares are not kept but computed
 * again on the way back: a third more work, and memory that does not grow with the number of
 * blocks.
 *
 * @returns  float32, the shape of the query
 */
export const boundedAttention = composite<BlockAttentionInputs, Settings, readonly [Value]>({
  forward(b, inputs, { scale, blocksAtOnce }) {
    const parts: Value[] = []
    for (const piece of pieces(inputs, blocksAtOnce)) {
      const [mixed] = attended(b, piece.cut(b, parts.slice(-1)), scale)
      parts.push(mixed)
    }
    return [joined(b, parts)]
  },
  vjp({ b, inputs, settings, g }) {
    let back: Gradients | undefined
    // All at once: a piece is forgotten only when nothing of it is wanted any more.
    const of = (part: keyof Gradients) => () => {
      back ??= gradientsOf(b, { inputs, settings, g })
      return back[part]
    }
    return [of('query'), of('contextKey'), of('contextValue'), of('blockKey'), of('blockValue')]
  },
})

type Gradients = Readonly<
  Record<'query' | 'contextKey' | 'contextValue' | 'blockKey' | 'blockValue', Value>
>

function gradientsOf(
  b: Builder,
  at: { readonly inputs: BlockAttentionInputs; readonly settings: Settings; readonly g: Value },
): Gradients {
  const { scale, blocksAtOnce } = at.settings
  const found: Gradients[] = []
  let sums: Pick<Gradients, 'contextKey' | 'contextValue'> | undefined
  for (const piece of pieces(at.inputs, blocksAtOnce)) {
    const last = found.at(-1)
    const inputs = piece.cut(b, [...Object.values(last ?? {}), ...Object.values(sums ?? {})])
    const outputs = attended(b, inputs, scale)
    const back = attendedBack(b, { inputs, outputs, scale, g: piece.ofBlocks(b, at.g) })
    const [contextKey, contextValue] = [back.contextKey(), back.contextValue()]
    sums = {
      contextKey: sums ? b.add(sums.contextKey, contextKey) : contextKey,
      contextValue: sums ? b.add(sums.contextValue, contextValue) : contextValue,
    }
    const own = { query: back.query(), blockKey: back.blockKey(), blockValue: back.blockValue() }
    found.push({ ...own, ...sums })
  }
  const all = (part: keyof Gradients) =>
    joined(
      b,
      found.map((piece) => piece[part]),
    )
  const last = found[found.length - 1]
  return { ...last, query: all('query'), blockKey: all('blockKey'), blockValue: all('blockValue') }
}

const joined = (b: Builder, [first, ...more]: readonly Value[]): Value =>
  b.concat([first, ...more], blocksAxis)

const blocksAxis = 2

interface Piece {
  /** The inputs of these blocks, not to be computed with before `earlier` is there. */
  cut(b: Builder, earlier: readonly Value[]): BlockAttentionInputs
  /** Of a value with one part for each block, those of these. */
  ofBlocks(b: Builder, x: Value): Value
}

function pieces(inputs: BlockAttentionInputs, blocksAtOnce: number): Piece[] {
  const [query, contextKey, contextValue, blockKey, blockValue, contextMask, blockMask] = inputs
  const blocks = lengths(query)[blocksAxis]
  return Array.from({ length: Math.ceil(blocks / blocksAtOnce) }, (_, i) => {
    const [from, to] = [i * blocksAtOnce, Math.min(blocks, (i + 1) * blocksAtOnce)]
    const ofBlocks = (b: Builder, x: Value, axis = blocksAxis): Value => {
      const [starts, ends, axes] = [[from], [to], [axis]].map((list) => b.graph.integers(list))
      return b.op('Slice', [x, starts, ends, axes], {})
    }
    // A mask may hold the same for all blocks: it broadcasts.
    const ofMask = (b: Builder, mask: Value): Value => {
      const axis = mask.shape.length - 3
      return axis >= 0 && mask.shape[axis] === blocks ? ofBlocks(b, mask, axis) : mask
    }
    return {
      ofBlocks,
      cut(b, earlier) {
        const own = ofBlocks(b, query)
        const ready = earlier.reduce((x, before) => b.after(x, before), own)
        const [keys, values] = [ofBlocks(b, blockKey), ofBlocks(b, blockValue)]
        const far = ofMask(b, contextMask)
        return blockMask === undefined
          ? [ready, contextKey, contextValue, keys, values, far]
          : [ready, contextKey, contextValue, keys, values, far, ofMask(b, blockMask)]
      },
    }
  })
}
