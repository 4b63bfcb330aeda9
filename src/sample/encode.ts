import type { StoredDType } from '../models/hidden-states.ts'
import { crc32OfParts, encodeSafetensors } from '../safetensors/write.ts'
import type { FinishedSample } from '../spool/spool.ts'
import { statesDType } from '../tensor/dtype.ts'

/** A sample file: what is stored of one dataset row. */

/** What all sample files of a run have in common. */
export interface SampleFormat {
  /** What the captures are called, in the order stored: `layer_1`, …, `final`. */
  readonly captures: readonly string[]
  readonly hidden: number
  readonly dtype: StoredDType
  /** Goes into every file; the same on every machine, so that the bytes are. */
  readonly metadata: Readonly<Record<string, string>>
}

/** @param fingerprint  the target's, of `Target.fingerprint` */
export const sampleMetadata = (
  fingerprint: string,
  captures: readonly string[],
): Readonly<Record<string, string>> => ({
  format: 'draftsmith-1',
  target: fingerprint,
  captures: captures.join(','),
})

export interface SampleContent {
  /** Of the token ids: `contentHash`, in hex. */
  readonly hash: string
  /** int32 [tokens] */
  readonly ids: Int32Array
  /** [tokens, captures, hidden] in the format's type, little-endian. */
  readonly states: Uint8Array
}

/** The same content and format give the same bytes. */
export function encodeSample(content: SampleContent, format: SampleFormat): FinishedSample {
  const { hash, ids, states } = content
  const { captures, dtype, hidden, metadata } = format
  const tokens = ids.length
  const shape = [tokens, captures.length, hidden]
  const wideIds = new Uint8Array(BigInt64Array.from(ids, BigInt).buffer)
  const parts = encodeSafetensors(
    [
      { name: 'hidden_states', dtype: statesDType[dtype], shape, data: states },
      { name: 'token_ids', dtype: 'I64', shape: [tokens], data: wideIds },
    ],
    metadata,
  )
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
  return { hash, tokens, bytes, crc32: crc32OfParts(parts), parts }
}

/** Header and metadata of a file, generously. */
const overheadBytes = 4096

/** No file of so many tokens takes more. */
export function sampleBytesMax(tokens: number, { captures, dtype, hidden }: SampleFormat): number {
  const stateBytes = captures.length * hidden * (dtype === 'f32' ? 4 : 2)
  return tokens * (stateBytes + BigInt64Array.BYTES_PER_ELEMENT) + overheadBytes
}
