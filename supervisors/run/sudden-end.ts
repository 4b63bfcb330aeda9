import type { Log } from '../../src/log.ts'
import { tellLauncher } from '../launcher.ts'
import { type EndSignal, exitCodeOf } from './signals.ts'

/**
 * The end of a run's process that waits for nothing. Not by an orderly exit, which ends threads
 * inside native code and would abort: by SIGKILL, after which the launcher starts anew unless told.
 */
export class SuddenEnd {
  readonly #log: Log
  readonly #lastWords: () => void
  readonly #kill: () => void

  /** @param kill  ends the process by SIGKILL */
  constructor(log: Log, lastWords: () => void, kill: () => void) {
    this.#log = log
    this.#lastWords = lastWords
    this.#kill = kill
  }

  /** A person wants it: not to be started again. */
  async leave(signal: EndSignal): Promise<void> {
    this.#log.warn({ signal }, 'leaving at once; the next run goes on')
    await tellLauncher({ exit: exitCodeOf(signal) })
    this.#die()
  }

  ofBug(error: unknown): void {
    this.#log.fatal({ err: error }, 'the supervisor dies of a bug')
    this.#die()
  }

  /**
   * A thread cannot be ended.
   *
   * @param code  of a run that was told to stop: nobody is to start it again; null: of another
   */
  async wedged(code: number | null): Promise<void> {
    if (code !== null) await tellLauncher({ exit: code })
    this.#die()
  }

  #die(): void {
    this.#lastWords()
    this.#kill()
  }
}
