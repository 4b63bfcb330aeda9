import type { ChangedSettings, LiveKey, LiveSettings } from '../src/config/live-settings.ts'
import type { CheckpointerStatus } from './checkpointer.ts'
import type { LedgerStatus } from './ledger.ts'
import type { LoaderStatus } from './loader.ts'
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
   * @param awaited  called when that wait begins
   * @returns  null where it is not up
   */
  kill(actor: string, awaited: (wait: AwaitedEnd) => void): Promise<Killed | null>
  /** Lets an actor finish what it holds, then starts it again; one that is down, at once. */
  restart(actor: string): Promise<Restarted>
  /** What may be changed now, and what holds. */
  settings(): SettingsInForce
  /** Until this process ends; the configuration stays as it is. */
  set(changed: ChangedSettings): void
  /**
   * Saves what is trained by now; the training goes on.
   *
   * @returns  the checkpoint's name; null where there is nothing to save
   * @throws   Failure `invalid`: nothing trains; else as the store throws it
   */
  checkpoint(): Promise<string | null>
  /**
   * Begins nothing new, and settles when all that was under way is stored, committed and saved. The
   * run then waits, paused.
   *
   * @param signal  ends the waiting; the run stays paused
   * @throws  Failure `invalid`: there is nothing to drain now, or somebody let it go on
   */
  drain(signal: AbortSignal): Promise<void>
  /** Drains, saves and exits 5: resumable. */
  stop(): void
  /** A person's words, into the log. */
  note(text: string): void
}

/** An actor that is to be ended, and is inside native code: that is waited for, so long at most. */
export interface AwaitedEnd {
  readonly work: string
  readonly patienceMs: number
}

export interface SettingsInForce {
  /** Those that something in this run heeds. */
  readonly keys: readonly LiveKey[]
  readonly configured: LiveSettings
  readonly inForce: LiveSettings
}

/** What an order has come to. */
export interface Restarted {
  /**
   * `ended`: it was up, and its supervisor decides; `started`: it was down, and was started;
   * `nothing`: it starts or drains already, or nothing may start any more.
   */
  readonly did: 'ended' | 'started' | 'nothing'
  /** In the tree, by then. */
  readonly state: ActorStatus['state']
}

export interface Ended {
  /** Of the process that was the actor's own; null: it was a thread. */
  readonly pid: number | null
  /** The native work that was waited for; null: it was in none. */
  readonly waitedFor: string | null
}

export interface Killed extends Ended {
  /** In the tree, by then. */
  readonly state: ActorStatus['state']
}

/** One actor or supervisor of the tree. */
export interface ActorStatus {
  readonly id: string
  readonly state: string
  /** Milliseconds since the epoch: when it came to this state. */
  readonly since: number
  /** How long ago that was, whatever became of the machine's clock meanwhile. */
  readonly forMs: number
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
  /** Null until it has answered once. */
  readonly loader: LoaderStatus | null
}

export interface Speed {
  /** Extracted, or imported. */
  readonly spooled: { readonly samplesPerSecond: number; readonly tokensPerSecond: number }
  readonly uploaded: { readonly samplesPerSecond: number; readonly bytesPerSecond: number }
  /** Until the last row is extracted, or the last file taken; null where nothing moves. */
  readonly etaSeconds: number | null
}
