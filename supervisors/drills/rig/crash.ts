/**
 * How and when a draftsmith is ended from within: `preload.ts` reads it in each process and thread
 * of it, and does it. The program itself only names its moments (`src/probe.ts`).
 */

export interface Crash {
  /** A name that `probe` is called with: here the process ends. */
  readonly at?: string
  /** At which call of it in one thread; default 1. */
  readonly hit?: number
  /** Not at the moment itself, but so long after it: in the middle of what has begun. */
  readonly laterMs?: number
  /** Only while this spool holds a half-written file of one of these samples. */
  readonly during?: { readonly spool: string; readonly hashes: readonly string[] }
  /** Instead of `at`: so long after the supervised process began. */
  readonly afterMs?: number
  /**
   * `all`: SIGKILL to the launcher, then to the process it supervises. `process`: to the latter
   * alone, or to the process of the actor that has one. `abort`: what a native fault does to it.
   * `memory`: it takes memory until the kernel ends it; where nothing limits it, it does so itself.
   * `thread`: an error ends the thread. `exit`: it is ended at once, without a word.
   * `hang`: it computes for ever and answers nobody.
   */
  readonly end?: 'all' | 'process' | 'abort' | 'memory' | 'thread' | 'exit' | 'hang'
  /** So long after its process began, the clock by which it tells the time is set by `byMs`. */
  readonly clock?: { readonly afterMs: number; readonly byMs: number }
  /** Each moment and its time is noted, in `noteNames.moments`. */
  readonly noted?: boolean
  /** The launcher starts the process again: it ends there every time. Default: only once. */
  readonly always?: boolean
  /** At each call of probe with this name the thread stands still for a while. */
  readonly slow?: { readonly at: string; readonly ms: number }
  /**
   * From its `hit`th call with this name on a thread stands still at each, for ten seconds or until
   * it is let go.
   */
  readonly hold?: { readonly at: string; readonly hit: number }
}

/**
 * On a job that is smaller than the drill was made for: at a call that comes with work left.
 *
 * @param calls  how often a thread meets each moment where nothing disturbs it
 */
export function scaled<C extends Crash>(crash: C, calls: ReadonlyMap<string, number>): C {
  const { at, hit } = crash
  if (at === undefined || hit === undefined) return crash
  return { ...crash, hit: Math.max(1, Math.min(hit, (calls.get(at) ?? 1) >> 1)) }
}

/** The environment in which a draftsmith crashes so, each crash once, and notes its processes. */
export const crashing = (crashes: readonly Crash[], notes: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('./preload.js', import.meta.url).href}`,
  [crashVariable]: JSON.stringify(crashes),
  [notesVariable]: notes,
})

export const crashVariable = 'DRAFTSMITH_DRILL_CRASH'
export const notesVariable = 'DRAFTSMITH_DRILL_NOTES'

/** Files in `notes`. */
export const noteNames = {
  /** A line for each process that has begun. */
  pids: 'pids',
  /** One of the crashes has happened: with its place among them. */
  crashed: 'crashed',
  /** A line for each moment that was named, where they are noted. */
  moments: 'moments',
  /** What was held goes on. */
  letGo: 'let-go',
} as const
