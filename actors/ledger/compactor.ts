import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { Manifest } from '../../src/manifest/log.ts'

/** A snapshot is written once so many segments lie beside it, whichever starts wrote them. */
const compactEvery = 64
/** Nobody reads a manifest for longer than this. */
const graceMs = 10 * 60_000

export interface CompactorParts {
  readonly manifest: Manifest
  readonly log: Log
  /** The manifest is damaged: the run cannot go on. */
  readonly fatal: (error: unknown) => void
}

/**
 * Compaction beside the commits, which do not wait for it. It saves the next replay some time; a
 * store that cannot do it now loses nothing.
 */
export class Compactor {
  readonly #parts: CompactorParts
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  /** Our segments when a snapshot was begun last: one that was refused is not tried at each. */
  #begunAt = Number.NEGATIVE_INFINITY

  constructor(parts: CompactorParts) {
    this.#parts = parts
  }

  /** What an earlier start left half sent goes: it is paid for, and nobody completes it. */
  begin(): void {
    this.#run(() => this.#parts.manifest.abortUnfinished())
  }

  /** Told after each segment. One that falls due while another is under way waits for the next. */
  committed(): void {
    const { appended, uncovered } = this.#parts.manifest
    const isDue = uncovered >= compactEvery && appended - this.#begunAt >= compactEvery
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
    const { snapshot, removed } = await manifest.compact({ graceMs, signal: this.#stop.signal })
    log.info({ snapshot, removed }, 'manifest compacted')
  }

  #failed(error: unknown): void {
    const { log, fatal } = this.#parts
    if (this.#stop.signal.aborted) return
    if (!isFailure(error) || error.kind === 'corrupt') fatal(error)
    else log.warn({ reason: explain(error) }, 'compaction is put off')
  }
}
