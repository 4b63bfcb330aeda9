import type { RootControl } from '../../protocol/console.ts'

/** What a console asks, and what it tells while a command is under way. */

export interface Desk {
  readonly root: RootControl
  /**
   * Where a row's sample is, why, and its history, as text.
   *
   * @throws Failure `invalid`: no such row or hash; else as the store throws it
   */
  explain(asked: string, signal: AbortSignal): Promise<string>
  /**
   * An actor's last lines of the log, and then what it writes, each as it stands there. Settles at
   * the signal.
   */
  follow(actor: string, told: (line: string) => void, signal: AbortSignal): Promise<void>
}

/** Whoever typed the line. */
export interface Hearing {
  /** Before the answer: what is waited for. */
  say(text: string): void
  /** Lines of the log follow, until the signal. */
  follows(): void
  /** A line of the log, in JSON. */
  log(line: string): void
  readonly columns: number
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}
