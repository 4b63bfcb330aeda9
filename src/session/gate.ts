/**
 * Who may end a thread, and when. Ending one inside native code aborts the whole process; so a
 * worker enters this gate around every native call, and its supervisor ends it only once the gate
 * is closed with the worker outside. One word of shared memory, changed atomically by either side.
 */
import { type Clock, sleep, systemClock } from '../clock.ts'

/** Bits of the word. */
const inside = 1
const closed = 2

/** A deadline is missed by no more than this, and a thread that leaves is seen that soon. */
const pollMs = 5

/** The word that a thread and its supervisor share, and what each may do with it. */
export class Gate {
  readonly #word: Int32Array<SharedArrayBuffer>
  #turn: Promise<unknown> = Promise.resolve()

  /**
   * @param word  one element of shared memory, zero at first; given to the thread and kept by its
   *              supervisor, each of whom makes a Gate of it
   */
  constructor(word: Int32Array<SharedArrayBuffer>) {
    this.#word = word
  }

  static memory(): Int32Array<SharedArrayBuffer> {
    return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  }

  /**
   * For the worker, before native code. Never returns once the gate is closed: the thread is about
   * to be ended, and an error here could be caught and run on from.
   */
  enter(): void {
    for (;;) {
      const found = Atomics.compareExchange(this.#word, 0, 0, inside)
      if (found === 0) return
      if ((found & inside) !== 0) throw new Error('the gate was entered twice')
      Atomics.wait(this.#word, 0, found)
    }
  }

  /** Whether the worker is in native code; for good, once the gate is closed and it is not. */
  get isInside(): boolean {
    return (Atomics.load(this.#word, 0) & inside) !== 0
  }

  /** For the worker, after native code, also where it threw. */
  leave(): void {
    Atomics.and(this.#word, 0, ~inside)
  }

  /**
   * Runs native code inside the gate, one after another: it blocks the thread, so nothing is lost.
   */
  through<T>(native: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      this.enter()
      try {
        return await native()
      } finally {
        this.leave()
      }
    })
    this.#turn = turn.catch(() => {})
    return turn
  }

  /**
   * For the supervisor: closes the gate for good.
   *
   * @returns  true once the thread is outside, where it may be ended; false when `timeoutMs` passed
   *           with the thread still inside. Asking again is allowed
   */
  async close(timeoutMs: number, clock: Clock = systemClock): Promise<boolean> {
    const until = clock.now() + timeoutMs
    Atomics.or(this.#word, 0, closed)
    while (this.isInside) {
      const left = until - clock.now()
      if (left <= 0) return false
      await sleep(Math.min(pollMs, left), clock)
    }
    return true
  }
}
