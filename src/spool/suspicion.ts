/** What deaths say of a batch; pure. The numbers are promises (DESIGN, extractor). */

/** Deaths of actors while they held the batch. */
export interface Deaths {
  /** The supervisor saw the actor die. */
  readonly witnessed: number
  /** Found at a start: the whole process or machine went, for whatever reason. */
  readonly unwitnessed: number
}

export type Verdict =
  | 'run'
  /** Run `<id>.0` and `<id>.1` instead: one of them holds what kills. */
  | 'halve'
  /** The one sample that kills is found. */
  | 'quarantine'

const witnessedMax = 3
const anyMax = 8
const stormBatches = 3

/**
 * A batch is halved at its third witnessed death, or the eighth of any kind, for a machine that
 * goes away proves little. A half is under suspicion from the start: one more death halves it
 * again. A single row is given the full number before it is given up.
 */
export function verdictOn(batchId: string, rows: number, deaths: Deaths): Verdict {
  const all = deaths.witnessed + deaths.unwitnessed
  const enough = deaths.witnessed >= witnessedMax || all >= anyMax
  if (rows <= 1) return enough ? 'quarantine' : 'run'
  return enough || (isHalf(batchId) && all > 0) ? 'halve' : 'run'
}

const isHalf = (batchId: string): boolean => batchId.includes('.')

/** The planned batch that a half of a half came from. */
export const planned = (batchId: string): string => batchId.split('.', 1)[0] ?? batchId

/**
 * The batches that ended their extractors since the last that was done, after one more did. Halves
 * count as the batch they come from: hunting one bad sample is no storm.
 */
export const streakAfter = (streak: readonly string[], batchId: string): readonly string[] =>
  streak.includes(planned(batchId)) ? streak : [...streak, planned(batchId)]

/** Not one bad batch but a machine, a driver or a model that fails on all of them. */
export const isStorm = (streak: readonly string[]): boolean => streak.length >= stormBatches
