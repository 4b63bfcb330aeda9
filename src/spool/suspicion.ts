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
 * What ended extractors since the last batch that was done, after one more death: the batches held
 * at it, as one entry. Halves count as the batch they come from: hunting one bad sample is no
 * storm, and neither is the same company of batches dying twice.
 */
export function streakAfter(
  streak: readonly string[],
  batchIds: readonly string[],
): readonly string[] {
  const entry = [...new Set(batchIds.map(planned))].sort().join('+')
  return entry === '' || streak.includes(entry) ? streak : [...streak, entry]
}

/** The same after a sample was given up, which is no progress either. */
export const streakAfterQuarantine = (streak: readonly string[], batchId: string) =>
  [...streak, `!${batchId}`] as readonly string[]

/** Not one bad batch but a machine, a driver or a model that fails on all of them. */
export function isStorm(streak: readonly string[]): boolean {
  const quarantined = streak.filter((entry) => entry.startsWith('!')).length
  return quarantined >= stormBatches || streak.length - quarantined >= stormBatches
}
