import type { SpooledSample } from '../src/spool/name.ts'

/**
 * What travels between actors: references and counts. Hidden states never do: they lie in the spool
 * or in the store. Token ids travel once, from the reader to an extractor, as a transferred buffer.
 */

/** The first 16 bytes, in hex, of the SHA-256 of a row's token ids as little-endian int32. */
export type SampleHash = string

/** One finished sample file; its name in the spool and its key in the store follow from this. */
export type SampleRef = SpooledSample

/** A sample that cannot be computed, and why. */
export interface QuarantinedSample {
  readonly hash: SampleHash
  readonly tokens: number
  readonly reason: string
}

/** One row of a batch. */
export interface BatchRow {
  readonly row: number
  readonly hash: SampleHash
  readonly tokens: number
  /**
   * False where the manifest or the spool has it already: it is computed with its batch, not
   * stored.
   */
  readonly wanted: boolean
}

/** A planned group of rows, leased to one extractor. */
export interface Batch {
  /** The same for the same plan: `b000017`, a half of it `b000017.0`. */
  readonly id: string
  readonly rows: readonly BatchRow[]
  /** The rows' token ids, one row after the other, unpadded. Transferred. */
  readonly tokenIds: Int32Array<ArrayBuffer>
}
