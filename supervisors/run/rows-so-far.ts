import type { ReaderStatus } from '../../protocol/source.ts'

/**
 * What readers counted, over all their starts in this process: one that starts anew looks at every
 * row again, and finds there what was extracted under the one before it.
 */
export class RowsSoFar {
  /** What was shown of those before the present one; null while it is the first. */
  #before: ReaderStatus | null = null
  /** Samples that were spooled under them. */
  #extracted = 0
  #last: ReaderStatus | null = null
  #shown: ReaderStatus | null = null

  /** @param spooled  samples that were spooled in this process so far */
  note(told: ReaderStatus, spooled: number): ReaderStatus {
    if (this.#last && isAnother(this.#last, told)) {
      this.#before = this.#shown
      this.#extracted = spooled
    }
    this.#last = told
    this.#shown = this.#before ? this.#over(this.#before, told) : told
    return this.#shown
  }

  #over(before: ReaderStatus, told: ReaderStatus): ReaderStatus {
    // All look at the rows in one order.
    const seen = told.examined < before.examined ? before : told
    return {
      ...told,
      examined: seen.examined,
      repeated: seen.repeated,
      skipped: seen.skipped,
      found: Math.max(before.found, told.found - this.#extracted),
      rowsDone: Math.max(before.rowsDone, told.rowsDone),
      tokensDone: Math.max(before.tokensDone, told.tokensDone),
      batches: { ...told.batches, done: before.batches.done + told.batches.done },
      // What has ended has ended, while it is looked through once more.
      outcome: told.outcome ?? before.outcome,
    }
  }
}

/** Of one reader, these only grow. */
const isAnother = (last: ReaderStatus, told: ReaderStatus): boolean =>
  told.examined < last.examined || told.batches.done < last.batches.done
