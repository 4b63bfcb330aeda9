import type { Log } from '../../src/log.ts'
import type { TreeEvent } from '../engine/events.ts'
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
  #afterWords: 'exit' | 'kill' = 'exit'
  /** By the actors that held it, what a stop in a hurry did not wait for. */
  readonly #left = new Map<string, string>()

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

  note(event: TreeEvent): void {
    if (event.kind === 'left' && event.work !== null) this.#left.set(event.child, event.work)
    if (event.kind === 'wedged' && event.hurried) this.#afterWords = 'kill'
  }

  /** After a stop: what was not waited for. */
  tellLeft(): void {
    if (this.#left.size === 0) return
    const left = [...this.#left].map(([child, work]) => `${child}: ${work}`)
    this.#log.warn({ left }, 'ended in a hurry: the next run does again what was under way')
  }

  /**
   * How the process is to end when all has been said. By a kill where a thread is inside native
   * code yet: an orderly exit would end it there, which aborts.
   */
  get afterWords(): 'exit' | 'kill' {
    return this.#afterWords
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
    // A person's hurry is no fault: the run says how it ended first.
    if (this.#afterWords === 'kill') return
    if (code !== null) await tellLauncher({ exit: code })
    this.#die()
  }

  #die(): void {
    this.#lastWords()
    this.#kill()
  }
}
