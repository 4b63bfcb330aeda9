import { request } from './contract.ts'

/** What is asked of whoever fills the spool: it knows all the work, and its end. */
export const sourceContract = {
  /** While paused, no work is begun; what is under way goes on. */
  pause: request<boolean, void>(),
  status: request<void, SourceStatus>(),
}

/** How far it is: a reader counts rows, an importer files. */
export type SourceStatus = ReaderStatus | ImporterStatus

export interface ReaderStatus {
  readonly of: 'rows'
  /** Rows in the dataset, or the configured limit. */
  readonly rows: number
  /** Rows looked at so far, of which the manifest already had `found`. */
  readonly examined: number
  readonly found: number
  /** Rows that need not be computed, are no use, or whose batch is done. */
  readonly rowsDone: number
  /** Planned tokens, and those of rows that need not be computed or whose batch is done. */
  readonly tokens: number
  readonly tokensDone: number
  /** Rows that repeat the token ids of an earlier one. */
  readonly repeated: number
  /** Rows that are no use as data, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  readonly batches: { readonly planned: number; readonly leased: number; readonly done: number }
  /** Batches that were halved, because they killed their extractor. */
  readonly halved: readonly string[]
  /** Null until every row has come to its end. */
  readonly outcome: RowOutcome | null
}

/** Where the dataset's distinct usable samples ended. */
export interface RowOutcome {
  readonly committed: number
  readonly quarantined: number
  readonly failed: number
}

/** Since the importer's own start: one that has restarted finds what it took before. */
export interface ImporterStatus {
  readonly of: 'files'
  readonly files: number
  /** Files looked at so far: there already, taken, left alone, or in hand. */
  readonly examined: number
  /** Files of whose row there was one: stored, or on its way. */
  readonly found: number
  /** Files whose sample was put into the spool. */
  readonly imported: number
  /** Files that prove a row, and were not taken yet. */
  readonly inHand: number
  /** Files that are not taken, by reason. */
  readonly leftAlone: Readonly<Record<string, number>>
  /** Null until every file has come to its end. */
  readonly outcome: FileOutcome | null
}

/** Files that are not taken, for whatever reason. */
export const filesLeft = ({ leftAlone }: ImporterStatus): number =>
  Object.values(leftAlone).reduce((sum, files) => sum + files, 0)

/** Where the samples of the files that were not left alone ended, counted in files. */
export interface FileOutcome {
  readonly committed: number
  readonly failed: number
}
