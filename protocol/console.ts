import type { CheckpointerStatus } from './checkpointer.ts'
import type { LedgerStatus } from './ledger.ts'
import type { SourceStatus } from './source.ts'
import type { TrainerStatus } from './trainer.ts'

/** What the console may ask of the root, and what it is told. */

export interface RootControl {
  status(): RunStatus
  /** No work is begun any more; uploads go on. */
  pause(): Promise<void>
  continue(): Promise<void>
  /**
   * Ends an actor's thread or process as a crash would; its supervisor starts it again. A thread is
   * waited for while it is inside native code.
   *
   * @returns  null where it is not up
   */
  kill(actor: string): Promise<Killed | null>
  /** So many requests to the store at once, for as long as this run lasts. */
  setMaxParallel(requests: number): Promise<void>
  /**
   * Saves what is trained by now; the training goes on.
   *
   * @returns  the checkpoint's name; null where there is nothing to save
   * @throws   Failure `invalid`: nothing trains; else as the store throws it
   */
  checkpoint(): Promise<string | null>
  /** Drains, saves and exits 5: resumable. */
  stop(): void
}

export interface Killed {
  /** Of the process that was the actor's own; null: it was a thread. */
  readonly pid: number | null
  /** The native work that was waited for; null: it was in none. */
  readonly waitedFor: string | null
}

/** One actor or supervisor of the tree. */
export interface ActorStatus {
  readonly id: string
  readonly state: string
  /** Milliseconds since the epoch: when it came to this state. */
  readonly since: number
  readonly restarts: number
  readonly lastCause: string | null
  /** What it says it is at. */
  readonly work: string
  /** What may block it, where it announced that. */
  readonly busy: { readonly work: string; readonly deadlineMs: number } | null
  readonly heartbeatAgeMs: number | null
  /** Of the process that is its own; null where it has none. */
  readonly pid: number | null
  readonly children: readonly ActorStatus[]
}

/** Where a run stands, as `status`, the console and the progress bars show it. */
export interface RunStatus {
  readonly run: string
  readonly state: string
  readonly pid: number
  readonly store: string
  readonly work: string
  readonly startedAt: string
  /** Null until the actor has answered once; and where nothing fills the spool. */
  readonly source: SourceStatus | null
  readonly ledger: LedgerStatus | null
  /** Null until its actors have answered once; and where nothing trains. */
  readonly training: TrainingStatus | null
  readonly speed: Speed
  /** The tree; null before it starts. */
  readonly actors: ActorStatus | null
}

export interface TrainingStatus {
  readonly trainer: TrainerStatus
  readonly checkpoints: CheckpointerStatus
}

export interface Speed {
  /** Extracted, or imported. */
  readonly spooled: { readonly samplesPerSecond: number; readonly tokensPerSecond: number }
  readonly uploaded: { readonly samplesPerSecond: number; readonly bytesPerSecond: number }
  /** Until the last row is extracted, or the last file taken; null where nothing moves. */
  readonly etaSeconds: number | null
}
