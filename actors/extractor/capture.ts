import type { StateValues } from '../../src/sample/finite.ts'

/** One captured layer of a padded batch, as the model gave it: [rows, width, hidden]. */
export type Capture = StateValues

export interface CaptureShape {
  readonly rows: number
  /** Tokens of the longest row: every row is padded to it, on the right. */
  readonly width: number
  readonly hidden: number
}

/** Which capture is not as large as the batch; null where all are. */
export function sizeFault(
  captures: readonly Capture[],
  shape: CaptureShape,
  names: readonly string[],
): string | null {
  const want = shape.rows * shape.width * shape.hidden
  const at = names.findIndex((_, i) => captures[i]?.length !== want)
  if (at < 0) return null
  const found = captures[at]?.length ?? 'nothing'
  const facts = `layer=${names[at]}, want=${want}, found=${found}`
  return `the model gave too few or too many values. ${facts}`
}

/**
 * Joins one row's layers: [tokens, layers, hidden], padding left out.
 *
 * @param captures  one a layer, in the order stored
 * @param row       index in the batch
 * @returns         the bytes, little-endian, in a buffer of their own
 */
export function joinLayers(
  captures: readonly Capture[],
  shape: CaptureShape,
  row: { readonly index: number; readonly tokens: number },
): Capture {
  const { width, hidden } = shape
  const layers = captures.length
  const length = row.tokens * layers * hidden
  const joined =
    captures[0] instanceof Float32Array ? new Float32Array(length) : new Uint16Array(length)
  for (let layer = 0; layer < layers; layer++) {
    const capture = captures[layer]
    for (let token = 0; token < row.tokens; token++) {
      const from = (row.index * width + token) * hidden
      joined.set(capture.subarray(from, from + hidden), (token * layers + layer) * hidden)
    }
  }
  return joined
}
