/** A training batch as the drafter's rows: where each lies, what it sees, and how blocks attend. */
import { type BlockAttentionInputs, blockAttention } from '../autodiff/block-attention.ts'
import { boundedAttention } from '../autodiff/bounded-attention.ts'
import { Builder } from '../graph/builder.ts'
import type { Graph } from '../graph/graph.ts'
import type { Value } from '../graph/ops.ts'
import { type Attend, type KeysValues, rotaryTable, type Turning } from '../models/dflash.ts'
import type { DrafterConfig, LayerType } from '../models/drafter-config.ts'

/** Of one graph: padded samples, and blocks of each. */
export interface BatchShape {
  readonly rows: number
  readonly tokens: number
  readonly blocks: number
}

/** Added to scores: nothing where a position is seen, so much that it has no share where not. */
export interface Masks {
  /** [rows, 1, blocks, 1 or group · slots, tokens] */
  readonly context: Value
  /** [group · slots, slots] */
  readonly block?: Value
}

/** Of a position that is not seen: finite, so that no difference of two is undefined. */
const unseen = -1e30

export class BlockRows {
  readonly graph: Graph
  readonly shape: BatchShape
  readonly config: DrafterConfig
  /** Of the context's rows, and of the blocks' slots. */
  readonly context: Turning
  readonly block: Turning
  readonly #masks = new Map<LayerType, Masks>()

  /** @param anchors  int64 [rows, blocks] */
  constructor(
    graph: Graph,
    { anchors, shape, config }: { anchors: Value; shape: BatchShape; config: DrafterConfig },
  ) {
    this.graph = graph
    this.shape = shape
    this.config = config
    const { rows, tokens, blocks } = shape
    const slots = config.blockSize
    const b = new Builder(graph, 'places')
    const range = (length: number) => {
      const bounds = [graph.integers(0), graph.integers(length), graph.integers(1)] as const
      return b.op('Range', bounds, {})
    }
    const lines = tokens + slots
    const positions = b.reshape(graph.cast(b.name('lines'), range(lines), 'F32'), [lines, 1])
    const table = rotaryTable(graph, { name: 'places.rotary', positions }, config)
    const inContext = b.expand(range(tokens), [rows, tokens])
    const inBlocks = b.add(b.reshape(anchors, [rows, blocks, 1]), range(slots))
    this.context = { positions: inContext, ...table }
    this.block = { positions: b.reshape(inBlocks, [rows * blocks, slots]), ...table }
    const at = { b, anchors, context: range(tokens), slots: range(slots) }
    if (config.layerTypes.includes('full_attention')) {
      this.#masks.set('full_attention', this.#full(at))
    }
    if (config.layerTypes.includes('sliding_attention')) {
      this.#masks.set('sliding_attention', this.#sliding(at))
    }
  }

  /** Of the layers of a type, of which there is one. */
  masks(type: LayerType): Masks {
    const masks = this.#masks.get(type)
    if (!masks) throw new TypeError(`no layer of that type. type=${type}`)
    return masks
  }

  /** The attention of layer i, scores of so many bytes at once, those of one block at least. */
  attend(i: number, context: KeysValues, chunkBytes: number): Attend {
    const { heads, kvHeads, headDim, blockSize: slots, layerTypes } = this.config
    const { rows, tokens, blocks } = this.shape
    const masks = this.masks(layerTypes[i])
    const group = heads / kvHeads
    const name = `layers.${i}.attention`
    return (query, block) => {
      const b = new Builder(this.graph, name)
      const ofContext = (x: Value) =>
        b.transpose(b.reshape(x, [rows, tokens, kvHeads, headDim]), [0, 2, 1, 3])
      const ofBlocks = (x: Value) =>
        b.transpose(b.reshape(x, [rows, blocks, slots, kvHeads, headDim]), [0, 3, 1, 2, 4])
      // [rows, blocks, slots, kvHeads, group, headDim]
      //   → [rows, kvHeads, blocks, group · slots, headDim]
      const apart = b.reshape(query, [rows, blocks, slots, kvHeads, group, headDim])
      const turned = b.transpose(apart, [0, 3, 1, 4, 2, 5])
      const inputs: BlockAttentionInputs = [
        b.reshape(turned, [rows, kvHeads, blocks, group * slots, headDim]),
        ofContext(context.key),
        ofContext(context.value),
        ofBlocks(block.key),
        ofBlocks(block.value),
        masks.context,
        masks.block,
      ]
      const blockBytes = 4 * rows * heads * slots * (tokens + slots)
      const blocksAtOnce = Math.max(1, Math.floor(chunkBytes / blockBytes))
      const scale = 1 / Math.sqrt(headDim)
      const [mixed] =
        blocksAtOnce < blocks
          ? boundedAttention(this.graph, `${name}.blocks`, inputs, { scale, blocksAtOnce })
          : blockAttention(this.graph, `${name}.blocks`, inputs, { scale })
      const back = b.reshape(mixed, [rows, kvHeads, blocks, group, slots, headDim])
      const joined = b.transpose(back, [0, 2, 4, 1, 3, 5])
      return b.reshape(joined, [rows * blocks * slots, heads * headDim])
    }
  }

  /** Every slot sees the context before its anchor, and all of its block. */
  #full({ b, anchors, context }: Places): Masks {
    const { rows, blocks } = this.shape
    const before = b.op('Less', [context, b.reshape(anchors, [rows, 1, blocks, 1, 1])], {})
    return { context: added(b, before) }
  }

  /**
   * Slot k sees as many positions as the window has, its own the last: the window moves with it.
   */
  #sliding({ b, anchors, context, slots }: Places): Masks {
    const { rows, tokens, blocks } = this.shape
    const { heads, kvHeads, blockSize: size, slidingWindow } = this.config
    const group = heads / kvHeads
    const anchor = b.reshape(anchors, [rows, 1, blocks, 1, 1])
    const own = b.add(anchor, b.reshape(slots, [size, 1]))
    const outside = b.sub(own, this.graph.integers(slidingWindow ?? 0))
    const before = b.op('Less', [context, anchor], {})
    const within = b.op('Less', [outside, context], {})
    const seen = added(b, b.op('And', [before, within], {}))
    // The same for each head of a group.
    const apart = b.reshape(seen, [rows, 1, blocks, 1, size, tokens])
    const each = b.expand(apart, [rows, 1, blocks, group, size, tokens])
    const numbers = Float32Array.from({ length: group * size * size }, (_, i) => {
      const [slot, other] = [Math.floor(i / size) % size, i % size]
      const isSeen = other <= slot && slot - other < (slidingWindow ?? 0)
      return isSeen ? 0 : unseen
    })
    return {
      context: b.reshape(each, [rows, 1, blocks, group * size, tokens]),
      block: this.graph.floats(b.name('block_mask'), [group * size, size], numbers),
    }
  }
}

interface Places {
  readonly b: Builder
  readonly anchors: Value
  /** int64: 0 … tokens − 1, and 0 … slots − 1. */
  readonly context: Value
  readonly slots: Value
}

const added = (b: Builder, seen: Value): Value =>
  b.op('Where', [seen, b.scalar(0), b.scalar(unseen)], {})
