import type { SupervisorSpec } from '../protocol/child.ts'
import { extraction, extractorIds } from './extraction.ts'
import type { Prepared } from './run/preflight.ts'

/** What a run does: beside the storage that empties the spool, what fills it. */
export interface Job {
  /** The target runs: its devices must be there, and batches may be to blame for deaths. */
  readonly computes: boolean
  readonly fill: (run: Prepared) => SupervisorSpec
  /** Of `fill`: the actor that knows all the work, and its end. */
  readonly source: 'reader' | 'importer'
  /** Of `fill`: the actors that put files into the spool. */
  readonly writers: (run: Pick<Prepared, 'config'>) => readonly string[]
}

/** Of `run` and `resume`. */
export const extracting: Job = {
  computes: true,
  fill: extraction,
  source: 'reader',
  writers: extractorIds,
}
