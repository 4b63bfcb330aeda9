import type { Failure } from '../src/failure.ts'

/**
 * What a supervisor knows of those it starts: data, in Erlang's terms.
 *
 * What a restart would meet again is told in one way at a start, and in one later. A start that
 * throws a Failure other than `unavailable` is not made again. An actor that is up stays up, does
 * nothing more and says so in its status (`gaveUp`): what it holds can still be saved.
 */

/** How a child came to its end. */
export interface Death {
  readonly child: string
  /**
   * `ordered`: a person or the supervisor asked for it. `clean`: exit code 0 that nobody asked for.
   */
  readonly cause: 'ordered' | 'clean' | 'crash' | 'deadline' | 'start'
  readonly reason: string
  /** What it threw, or was late for, where that is a Failure: its remedy is a person's to read. */
  readonly failure?: Failure
}

export interface ChildSpec {
  /** `ledger`, `uploader/0`: unique in the tree. */
  readonly id: string
  /** The actor's entry. Named, not imported: it must not run on the supervisor's thread. */
  readonly entry: URL
  /** A thread unless given; in a process of its own, whatever ends it ends nothing else. */
  readonly isolation?: 'thread' | 'process'
  /** Cloned to the actor at every start. */
  readonly input: unknown
  /** Ids of the actors it asks; their ports are wired at every start of either end. */
  readonly asks: readonly string[]
  /** `always`: also after a clean exit; a clean exit that was not asked for is a failure. */
  readonly restart: 'always' | 'on-failure' | 'never'
  /**
   * From the start of the thread to its word that it is ready; again from then where it showed
   * life meanwhile, as a start must that takes longer with more data.
   */
  readonly readyMs: number
  /** From `drain` to the end of what it holds; then the thread is ended. */
  readonly drainMs: number
  /** Ids of actors that must have drained before it: they give it work. */
  readonly drainsAfter: readonly string[]
  /** A sign of life at least so often, unless the child has announced that it is busy. */
  readonly heartbeatMs: number
  /**
   * Whether a death counts in the restart window (`child`), or was the work's fault (`work`).
   * Called once a death, before the restart. Absent: all but ordered ones count.
   */
  readonly blame?: (death: Death) => 'child' | 'work'
}

export type Strategy = 'one-for-one' | 'one-for-all' | 'rest-for-one'

export interface SupervisorSpec {
  readonly id: string
  readonly strategy: Strategy
  /** For each child: the one that would need more restarts in the window is given up. */
  readonly restarts: { readonly max: number; readonly withinMs: number }
  readonly backoff: Backoff
  /** In the order they start. */
  readonly children: readonly (ChildSpec | SupervisorSpec)[]
}

export interface Backoff {
  readonly firstMs: number
  readonly factor: number
  readonly capMs: number
  /** Fraction of the delay that chance may take away, 0 to 1. */
  readonly jitter: number
  /** A child that ran so long starts again from `firstMs`. */
  readonly quietMs: number
}
