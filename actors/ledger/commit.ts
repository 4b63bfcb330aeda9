import type { Clock } from '../../src/clock.ts'
import type { ManifestEntry } from '../../src/manifest/entry.ts'

export interface CommitRule {
  readonly every: number
  readonly seconds: number
}

export interface CommitParts {
  readonly rule: CommitRule
  readonly clock: Clock
  /** Puts one segment that names them; rejects only where the run cannot go on. */
  readonly append: (entries: readonly ManifestEntry[]) => Promise<void>
  /** Called once they are named: their local files may go. */
  readonly committed: (entries: readonly ManifestEntry[]) => Promise<void>
  /** A segment could not be written: the run cannot go on. */
  readonly failed: (error: unknown) => void
  /** The segment is there, and what it names could not be let go: no fault of the store. */
  readonly kept: (error: unknown) => void
}

/** Gathers entries into segments: by count, by time, or when told; one segment after the other. */
export class Committer {
  readonly #parts: CommitParts
  #rule: CommitRule
  #waiting: ManifestEntry[] = []
  #timer: unknown
  #writing: Promise<void> | undefined
  #segments = 0

  constructor(parts: CommitParts) {
    this.#parts = parts
    this.#rule = parts.rule
  }

  /** From now on; what waits by the clock waits anew. */
  follow(rule: Partial<CommitRule>): void {
    this.#rule = { ...this.#rule, ...rule }
    this.#parts.clock.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#schedule()
  }

  /** Entries that no segment names yet. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Bytes in the spool that may go once they are named. */
  get bytes(): number {
    return this.#waiting.reduce((sum, { length }) => sum + length, 0)
  }

  /** Written since this start. */
  get segments(): number {
    return this.#segments
  }

  add(entry: ManifestEntry): void {
    this.#waiting.push(entry)
    this.#schedule()
  }

  /**
   * Settles when all that waits is committed.
   *
   * @throws  what a segment could not be written for
   */
  async flush(): Promise<void> {
    while (this.#writing || this.#waiting.length > 0) await this.#start()
  }

  #schedule(): void {
    const { clock } = this.#parts
    const rule = this.#rule
    if (this.#waiting.length >= rule.every) this.hurry()
    else if (this.#waiting.length > 0) {
      this.#timer ??= clock.setTimeout(() => this.hurry(), rule.seconds * 1000)
    }
  }

  /** Begins to commit what waits, and does not wait for it. */
  hurry(): void {
    // Why it was in vain is told already.
    if (this.#waiting.length > 0) this.#start().catch(() => undefined)
  }

  /** One at a time: whoever asks meanwhile waits for the one under way. */
  #start(): Promise<void> {
    this.#parts.clock.clearTimeout(this.#timer)
    this.#timer = undefined
    // One that failed stays: the run cannot go on, and whoever asks later learns why.
    this.#writing ??= this.#write().then(() => {
      this.#writing = undefined
      this.#schedule()
    })
    return this.#writing
  }

  async #write(): Promise<void> {
    const entries = this.#waiting.slice(0, this.#rule.every)
    await toldTo(this.#parts.failed, this.#parts.append(entries))
    this.#segments++
    this.#waiting = this.#waiting.slice(entries.length)
    await toldTo(this.#parts.kept, this.#parts.committed(entries))
  }
}

/** Whoever waits learns of a failure, and so does this, where nobody does. */
async function toldTo(tell: (error: unknown) => void, work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    tell(error)
    throw error
  }
}
