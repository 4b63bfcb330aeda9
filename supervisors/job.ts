import type { SupervisorSpec } from '../protocol/child.ts'
import type { Config } from '../src/config/schema.ts'
import { extraction, extractorIds } from './extraction.ts'
import type { Prepared } from './run/preflight.ts'

/** What a run does beside the storage that empties the spool: at least one of the two. */
export interface Job {
  /** Null where nothing new is put into the spool. */
  readonly filling: Filling | null
  /** The configured drafter trains on what is stored. */
  readonly trains: boolean
  /** Where the training begins; absent: where it was. */
  readonly start?: {
    readonly from: string | null
    readonly anew: boolean
    /** Of the training that begins: begun once, though the process die and start again. */
    readonly id: string
  }
}

/** Who fills the spool. */
export interface Filling {
  /** The target runs: its devices must be there, and batches may be to blame for deaths. */
  readonly computes: boolean
  readonly fill: (run: Prepared) => SupervisorSpec
  /** Of `fill`: the actor that knows all the work, and its end. */
  readonly source: 'reader' | 'importer'
  /** Of `fill`: the actors that put files into the spool. */
  readonly writers: (run: Pick<Prepared, 'config'>) => readonly string[]
}

const byExtraction: Filling = {
  computes: true,
  fill: (run) => extraction(run),
  source: 'reader',
  writers: extractorIds,
}

/** Of a run without a section `train`. */
export const extracting: Job = { filling: byExtraction, trains: false }

/** Of `run` and `resume`. */
export const jobOf = ({ train }: Pick<Config, 'train'>): Job => ({
  filling: byExtraction,
  trains: train !== undefined,
})

/** Of `train`. */
export const training = (start: NonNullable<Job['start']>): Job => ({
  filling: null,
  trains: true,
  start,
})
