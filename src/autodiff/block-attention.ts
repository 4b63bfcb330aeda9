import { type Builder, lengths } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'
import { composite } from './composite.ts'

/** All float32; `rows` are a block's queries of all heads that share a key: group · slots. */
export type BlockAttentionInputs = readonly [
  /** [batch, kvHeads, blocks, rows, headDim] */
  query: Value,
  /** [batch, kvHeads, tokens, headDim] */
  contextKey: Value,
  contextValue: Value,
  /** [batch, kvHeads, blocks, slots, headDim] */
  blockKey: Value,
  blockValue: Value,
  /** Added to the scores of the context; broadcasts with [batch, kvHeads, blocks, rows, tokens]. */
  contextMask: Value,
  /** Added to those of the block itself; broadcasts with [batch, kvHeads, blocks, rows, slots]. */
  blockMask?: Value,
]

/** The result, then the shares of context and block, which its gradient wants. */
type Attended = readonly [mixed: Value, context: Value, block: Value]

/**
 * softmax over context and block together of (q kᵀ · scale + mask), times their values. Keys of the
 * context are shared by all blocks, a block's own by itself alone: so the work grows with blocks ×
 * (tokens + slots), and no mask over all blocks is ever made. A block must see some of its own
 * slots, or part of the context.
 *
 * @returns  float32, the shape of the query, and what the gradient wants
 */
export const blockAttention = composite<BlockAttentionInputs, { readonly scale: number }, Attended>(
  {
    forward: (b, inputs, { scale }) => attended(b, inputs, scale),
    vjp({ b, inputs, settings: { scale }, outputs, g }) {
      const back = attendedBack(b, { inputs, outputs, scale, g })
      return [back.query, back.contextKey, back.contextValue, back.blockKey, back.blockValue]
    },
  },
)

/** What the composite computes, for others that do so piece by piece. */
export function attended(
  b: Builder,
  [
    query,
    contextKey,
    contextValue,
    blockKey,
    blockValue,
    contextMask,
    blockMask,
  ]: BlockAttentionInputs,
  scale: number,
): Attended {
  const { wide, tall } = layouts(b, query)
  const tokens = lengths(contextKey)[2]
  const slots = lengths(blockKey)[3]
  const far = tall(b.matmul(wide(query), contextKey, { transB: true, alpha: scale }))
  const near = b.matmul(query, blockKey, { transB: true, alpha: scale })
  const scores = b.concat([b.add(far, contextMask), blockMask ? b.add(near, blockMask) : near], 4)
  const shares = b.op('Softmax', [scores], { axis: 4 })
  const [context, block] = b.split(shares, [tokens, slots], 4)
  const mixed = b.add(tall(b.matmul(wide(context), contextValue)), b.matmul(block, blockValue))
  return [mixed, context, block]
}

interface Back {
  readonly inputs: BlockAttentionInputs
  readonly outputs: Attended
  readonly scale: number
  /** Of the result. */
  readonly g: Value
}

/** The gradients of what goes into it, each built where it is asked for. */
export function attendedBack(b: Builder, { inputs, outputs, scale: alpha, g }: Back) {
  const [query, contextKey, contextValue, blockKey, blockValue] = inputs
  const [mixed, context, block] = outputs
  const { wide, tall } = layouts(b, query)
  // Through the softmax: p ⊙ (dp − Σ p dp), and Σ p dp is what the result itself gives with g.
  const mean = b.sum(b.mul(g, mixed), [4])
  const dFar = wide(
    b.mul(context, b.sub(tall(b.matmul(wide(g), contextValue, { transB: true })), mean)),
  )
  const dNear = b.mul(block, b.sub(b.matmul(g, blockValue, { transB: true }), mean))
  return {
    query: () =>
      b.add(tall(b.matmul(dFar, contextKey, { alpha })), b.matmul(dNear, blockKey, { alpha })),
    contextKey: () => b.matmul(dFar, wide(query), { transA: true, alpha }),
    contextValue: () => b.matmul(wide(context), wide(g), { transA: true }),
    blockKey: () => b.matmul(dNear, query, { transA: true, alpha }),
    blockValue: () => b.matmul(block, g, { transA: true }),
  }
}

/** Between [.., blocks, rows, n] and [.., blocks · rows, n]: the context's keys meet all rows. */
function layouts(b: Builder, query: Value) {
  const [batch, heads, blocks, rows] = lengths(query)
  const width = (x: Value) => lengths(x)[x.shape.length - 1]
  return {
    wide: (x: Value) => b.reshape(x, [batch, heads, blocks * rows, width(x)]),
    tall: (x: Value) => b.reshape(x, [batch, heads, blocks, rows, width(x)]),
  }
}
