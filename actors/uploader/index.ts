import type { ChildSpec } from '../../protocol/child.ts'
import type { UploaderShare } from '../../protocol/request-shares.ts'
import type { StorePlace } from '../../src/store/patient.ts'

export interface UploaderInput {
  readonly work: string
  readonly store: StorePlace
  /** Tries of one request to the store. */
  readonly attempts: number
  /**
   * Says how many uploads this thread has under way at once, until `maxParallel` changes; the
   * ledger's permits bound them all together.
   */
  readonly share: UploaderShare
  /**
   * The store refuses a body that has not the CRC-32 that is sent with it, which was computed when
   * the file was made: its answer proves the file, too.
   */
  readonly storeSums: boolean
}

/** Spooled files → the store; a pool. Asks the ledger for work; never writes the manifest. */
export const uploader = (
  index: number,
  input: UploaderInput,
  extractors: readonly string[],
): ChildSpec => ({
  id: `uploader/${index}`,
  entry: new URL('./worker.js', import.meta.url),
  input,
  asks: ['ledger'],
  restart: 'always',
  readyMs: 30_000,
  drainMs: 600_000, // a full spool over a slow line; a second signal hurries it
  drainsAfter: extractors,
  heartbeatMs: 30_000,
})
