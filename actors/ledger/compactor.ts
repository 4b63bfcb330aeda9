import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { Manifest } from '../../src/manifest/log.ts'

/** When a snapshot is written, and when what it covers goes. */
export interface CompactRule {
  /** Once so many segments lie beside the last one, whichever starts wrote them. */
  readonly every: number
  /** After it: nobody reads a manifest for longer than this. */
  readonly graceMs: number
}

const usualRule: CompactRule = { every: 64, graceMs: 10 * 60_000 }

export interface CompactorParts {
  readonly manifest: Manifest
  readonly log: Log
  /** The manifest is damaged: the run cannot go on. */
  readonly fatal: (error: unknown) => void
  readonly rule?: CompactRule | undefined
}

/**
 * Compaction beside the commits, which do not wait for it. It saves the next replay some time; a
 * store that cannot do it now loses nothing.
 */
export class Compactor {
  readonly #parts: CompactorParts
  readonly #rule: CompactRule
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  /** Our segments when a snapshot was begun last: one that was refused is not tried at each. */
  #begunAt = Number.NEGATIVE_INFINITY

  constructor(parts: CompactorParts) {
    this.#parts = parts
    this.#rule = parts.rule ?? usualRule
  }

  /** What an earlier start left half sent goes: it is paid for, and nobody completes it. */
  begin(): void {
    this.#run(() => this.#parts.manifest.abortUnfinished())
  }

  /** Told after each segment. One that falls due while another is under way waits for the next. */
  committed(): void {
    const { appended, uncovered } = this.#parts.manifest
    const { every } = this.#rule
    const isDue = uncovered >= every && appended - this.#begunAt >= every
    if (isDue) this.#run(() => this.#compact())
  }

  /** Settles when nothing is under way. */
  async settled(): Promise<void> {
    await this.#running
  }

  /** Nothing is half sent afterwards. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.settled()
  }

  #run(work: () => Promise<void>): void {
    this.#running ??= work()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#running = undefined
      })
  }

  async #compact(): Promise<void> {
    const { manifest, log } = this.#parts
    this.#begunAt = manifest.appended
    const how = { graceMs: this.#rule.graceMs, signal: this.#stop.signal }
    const { snapshot, removed } = await manifest.compact(how)
    log.info({ snapshot, removed }, 'manifest compacted')
  }

  #failed(error: unknown): void {
    const { log, fatal } = this.#parts
    if (this.#stop.signal.aborted) return
    if (!isFailure(error) || error.kind === 'corrupt') fatal(error)
    else log.warn({ reason: explain(error) }, 'compaction is put off')
  }
}
