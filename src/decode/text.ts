/**
 * What decoding asks of a target and of a drafter, about one text under way. Neither computes the
 * same position twice.
 */

/** Logits of some rows, float32 [rows, vocab]. */
export interface Logits {
  readonly data: Float32Array
  readonly vocabSize: number
}

export const rowOf = ({ data, vocabSize }: Logits, row: number): Float32Array =>
  data.subarray(row * vocabSize, (row + 1) * vocabSize)

/** What a target says to tokens that were read. */
export interface Reading {
  /** Of all the tokens, or of the last one alone, as asked. */
  readonly logits: Logits
  /** float32 [tokens, layers · hidden]: the layers that the drafter looks at, side by side. */
  readonly hidden: Float32Array
}

/**
 * A text as a target has it. Tokens are read ahead, and as many of them kept as turn out right: by
 * moving an end where the past is keys and values; a recurrent state would have to be there as it
 * was after each token.
 */
export interface TargetText {
  /** How many tokens are kept. */
  readonly length: number
  /** Reads tokens behind those kept; what was read before and not kept never was. */
  read(ids: readonly number[], want: 'all' | 'last'): Promise<Reading>
  /** Keeps the first `count` of the tokens read last. */
  keep(count: number): void
}

/** A text as a drafter has it: what the target kept, in its hidden states. */
export interface DrafterText {
  /** Tokens of a block, the anchor among them. */
  readonly blockSize: number
  /**
   * Drafts what follows the anchor, the first token that the target has not read.
   *
   * @param hidden  float32 [tokens, layers · hidden] of all tokens before the anchor that were not
   *                given before
   * @returns       blockSize − 1 tokens
   */
  draft(hidden: Float32Array, anchor: number): Promise<readonly number[]>
}
