import { type Builder, lengths } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'

/** Of the turned matrix: from so many on, cutting gains more than the pieces' joining costs. */
const tallRows = 1024

/** So many stay in the processor's cache from one pass to the next. */
const pieceRows = 256

/**
 * α gᵀ x, as the gradient of a weight is: a sum over as many rows as there are tokens.
 * onnxruntime's product with a turned left side is slower than turning it first; and slower again
 * where the turned one is tall, so that is cut into pieces, an even number of them for as many
 * threads.
 *
 * @param g  float32 [rows, out]
 * @param x  float32 [rows, in]
 * @returns  float32 [out, in]
 */
export function weightGradient(
  b: Builder,
  { g, x, alpha }: { readonly g: Value; readonly x: Value; readonly alpha: number },
): Value {
  const [rows, out] = lengths(g)
  const [, width] = lengths(x)
  const turned = b.transpose(g, [1, 0])
  const pieces = piecesOf(out)
  if (pieces === 1) return b.matmul(turned, x, { alpha })
  const cut = b.reshape(turned, [pieces, out / pieces, rows])
  const product = b.matmul(cut, b.reshape(x, [1, rows, width]), { alpha })
  return b.reshape(product, [out, width])
}

/** As few as make them short enough; one, where its length does not divide so. */
function piecesOf(out: number): number {
  if (out <= tallRows) return 1
  for (let pieces = 2; pieces <= out / 16; pieces += 2) {
    if (out % pieces === 0 && out / pieces <= pieceRows) return pieces
  }
  return 1
}
