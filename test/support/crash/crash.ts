/**
 * How and when a test ends a draftsmith from within: `preload.ts` reads it in each process and
 * thread of it, and does it.
 */

export interface Crash {
  /** A name that `probe` is called with: here the process ends. */
  readonly at?: string
  /** At which call of it in one thread; default 1. */
  readonly hit?: number
  /** Only while this spool holds a half-written file of one of these samples. */
  readonly during?: { readonly spool: string; readonly hashes: readonly string[] }
  /** Instead of `at`: so long after the supervised process began. */
  readonly afterMs?: number
  /**
   * `all`: SIGKILL to the launcher, then to the process it supervises. `process`: to the latter
   * alone, or to the process of the actor that has one. `abort`: what a native fault does to it.
   * `memory`: it takes memory until the kernel ends it; where nothing limits it, it does so itself.
   * `thread`: an error ends the thread.
   */
  readonly end?: 'all' | 'process' | 'abort' | 'memory' | 'thread'
  /** The launcher starts the process again: it ends there every time. Default: only once. */
  readonly always?: boolean
  /** At each call of probe with this name the thread stands still for a while. */
  readonly slow?: { readonly at: string; readonly ms: number }
  /**
   * From its `hit`th call with this name on a thread stands still at each, for ten seconds or until
   * the test lets go.
   */
  readonly hold?: { readonly at: string; readonly hit: number }
}

/** The environment in which a draftsmith crashes so, and notes its processes in `notes`. */
export const crashing = (crash: Crash, notes: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('./preload.js', import.meta.url).href}`,
  [crashVariable]: JSON.stringify(crash),
  [notesVariable]: notes,
})

export const crashVariable = 'DRAFTSMITH_TEST_CRASH'
export const notesVariable = 'DRAFTSMITH_TEST_NOTES'

/** Files in `notes`. */
export const noteNames = {
  /** A line for each process that has begun. */
  pids: 'pids',
  /** The crash has happened. */
  crashed: 'crashed',
  /** What was held goes on. */
  letGo: 'let-go',
} as const
