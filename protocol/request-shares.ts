import { sampleRequestsMax } from '../src/store/permits.ts'

/** Of the requests to the store that a run may have open at once: whose they are. */

/** The run's lock must beat while the ledger is away: one permit is never the ledger's to give. */
export const ledgerRequests = (maxParallel: number): number =>
  maxParallel > 1 ? maxParallel - 1 : maxParallel

/**
 * Of one uploader of so many; together about as many as samples may hold permits.
 */
export const lanesOf = ({ maxParallel, threads }: UploaderShare): number =>
  Math.ceil(sampleRequestsMax(ledgerRequests(maxParallel)) / threads)

export interface UploaderShare {
  /** Requests to the store at once, of the whole run. */
  readonly maxParallel: number
  /** Uploaders. */
  readonly threads: number
}
