/** The attention of one block that is drafted: to all of its context, and to itself. */
import { Builder } from '../graph/builder.ts'
import type { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import type { Attend, KeysValues } from './dflash.ts'
import type { DrafterConfig } from './drafter-config.ts'

/** What a layer's block attends to. */
export interface DraftContext {
  /** Those kept from before, and those that are new: all positions before the anchor. */
  readonly kept: KeysValues
  readonly fresh: KeysValues
  /** The anchor's position, int64 scalar. */
  readonly anchor: Value
}

/** Of a position that is not seen. */
const unseen = -1e30

/** @param i  which layer */
export function draftAttention(
  graph: Graph,
  { kept, fresh, anchor }: DraftContext,
  { i, config }: { readonly i: number; readonly config: DrafterConfig },
): Attend {
  const { heads, kvHeads, headDim, blockSize: slots } = config
  const group = heads / kvHeads
  const b = new Builder(graph, `layers.${i}.attention`)
  // [positions, kvHeads · headDim] → [kvHeads, positions, headDim]
  const all = (of: keyof KeysValues, block: KeysValues) => {
    const rows = b.concat([kept[of], fresh[of], block[of]], 0)
    return b.transpose(b.reshape(rows, [0, kvHeads, headDim]), [1, 0, 2])
  }
  return (query, block) => {
    // [slots, heads · headDim] → [kvHeads, group · slots, headDim]
    const apart = b.reshape(query, [slots, kvHeads, group, headDim])
    const rows = b.reshape(b.transpose(apart, [1, 2, 0, 3]), [kvHeads, group * slots, headDim])
    const alpha = 1 / Math.sqrt(headDim)
    const scores = b.matmul(rows, all('key', block), { transB: true, alpha })
    const bySlot = b.reshape(scores, [kvHeads, group, slots, -1])
    const isFull = config.layerTypes[i] === 'full_attention'
    const seen = isFull ? bySlot : windowed(b, { scores: bySlot, anchor, config })
    const shares = b.op('Softmax', [seen], { axis: 3 })
    const flat = b.reshape(shares, [kvHeads, group * slots, -1])
    const mixed = b.reshape(b.matmul(flat, all('value', block)), [kvHeads, group, slots, headDim])
    return b.reshape(b.transpose(mixed, [2, 0, 1, 3]), [slots, heads * headDim])
  }
}

/** Slot k, at position a + k, sees positions up to its own, as many as the window has. */
function windowed(
  b: Builder,
  {
    scores,
    anchor,
    config,
  }: { readonly scores: Value; readonly anchor: Value; readonly config: DrafterConfig },
): Value {
  const { graph } = b
  const slots = Array.from({ length: config.blockSize }, (_, k) => k)
  // What stands last among the keys is the block: a key's place is its position.
  const length = b.op('Shape', [scores], { start: 3, end: 4 })
  const limit = b.op('Squeeze', [length], {})
  const positions = b.op('Range', [graph.integers(0), limit, graph.integers(1)], {})
  const own = b.add(b.reshape(graph.integers(slots), [slots.length, 1]), anchor)
  const outside = b.sub(own, graph.integers(config.slidingWindow ?? 0))
  const isLate = b.op('Less', [outside, positions], {})
  const isEarly = b.op('LessOrEqual', [positions, own], {})
  const visible = b.op('And', [isLate, isEarly], {})
  return b.op('Where', [visible, scores, b.scalar(unseen)], {})
}
