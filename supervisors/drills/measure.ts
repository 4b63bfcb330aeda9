import type { Bodies } from '../../src/dev-s3/server.ts'
import { ended, type Moment } from './rig/moments.ts'

/** What a drill cost: pure, of the moments that were noted while it ran. */

/** Something was broken at a moment. */
export interface Blow {
  /** Milliseconds since the epoch. */
  readonly at: number
  /**
   * Whose work shows that it is over: `anyone`'s, or that of a `thread` or a `process` that has
   * begun since.
   */
  readonly until: 'anyone' | 'thread' | 'process'
  /** What that work is; absent: whatever gets on. */
  readonly by?: readonly string[] | undefined
}

export interface Figures {
  /** From each blow to the first progress after it; null where none came. */
  readonly recoverMs: readonly (number | null)[]
  /** Computed more often than an undisturbed run does. */
  readonly redone: { readonly batches: number; readonly samples: number }
  readonly restarts: {
    /** Of actors by their supervisors. */
    readonly actors: number
    /** Of the process by its launcher. */
    readonly processes: number
    /** Of the command by whoever gave it, after the first. */
    readonly commands: number
  }
  /** Bodies of samples that the store was sent again; null where only the store knows. */
  readonly sentTwice: { readonly objects: number; readonly bytes: number } | null
}

const progress = [
  'reader.lent',
  'extractor.computed',
  'spool.renamed',
  'uploader.put',
  'ledger.stored',
  'manifest.put',
  'ledger.removed',
  'loader.lent',
  'trainer.stepped',
  'checkpoint.state-put',
]

export interface Noted {
  readonly moments: readonly Moment[]
  readonly blows: readonly Blow[]
  /** Log lines of all processes. */
  readonly log: readonly string[]
  /** When the command was given, each time. */
  readonly starts: readonly number[]
  readonly bodies: Bodies | null
}

/** @param calm  what an undisturbed run does */
export function figuresOf(
  noted: Noted,
  calm: { readonly batches: number; readonly samples: number },
): Figures {
  const { moments, log, bodies, starts } = noted
  const times = (name: string) => moments.filter((moment) => moment.name === name).length
  const says = (words: string) => log.filter((line) => line.includes(words)).length
  return {
    recoverMs: blowsOf(noted).map((blow) => recoveryOf(blow, moments)),
    redone: {
      batches: Math.max(0, times('extractor.computed') - calm.batches),
      samples: Math.max(0, samplesWritten(moments) - calm.samples),
    },
    restarts: {
      actors: says('"msg":"restarting"'),
      processes: says('the process died: starting it again'),
      commands: Math.max(0, starts.length - 1),
    },
    sentTwice: bodies && { objects: bodies.again, bytes: bodies.bytesAgain },
  }
}

/** By threads that compute: who trains may keep copies of samples, which is no work done again. */
function samplesWritten(moments: readonly Moment[]): number {
  const named = (name: string) => moments.filter((moment) => moment.name === name)
  const computing = new Set(named('extractor.computed').map(threadOf))
  return named('spool.renamed').filter((moment) => computing.has(threadOf(moment))).length
}

const threadOf = ({ pid, thread }: Moment): string => `${pid}/${thread}`

/**
 * Those that the drill dealt from outside, and each end that was noted from within. Where launcher
 * and process went together, time counts from when the command was given again.
 */
function blowsOf({ moments, blows, starts }: Noted): Blow[] {
  const ends = moments.filter(({ name }) => name.startsWith(ended))
  const dealt = ends.map((end): Blow => {
    const { at, name } = end
    if (name === `${ended}:thread`) return { at, until: 'thread', by: workOf(end, moments) }
    const again = name === `${ended}:all` ? starts.find((start) => start > at) : at
    return { at: again ?? at, until: 'process' }
  })
  return [...blows, ...dealt].sort((a, b) => a.at - b.at)
}

/** What a thread did, of what gets on: whoever takes its place does the same. */
const workOf = (
  { pid, thread }: Moment,
  moments: readonly Moment[],
): readonly string[] | undefined => {
  const own = moments.filter((moment) => moment.pid === pid && moment.thread === thread)
  const names = progress.filter((name) => own.some((moment) => moment.name === name))
  return names.length > 0 ? names : undefined
}

function recoveryOf(blow: Blow, moments: readonly Moment[]): number | null {
  const bodyOf = (moment: Moment): string =>
    blow.until === 'process' ? `${moment.pid}` : threadOf(moment)
  const old = new Set(moments.filter(({ at }) => at <= blow.at).map(bodyOf))
  const names = blow.by ?? progress
  const next = moments.find(
    (moment) =>
      moment.at > blow.at &&
      names.includes(moment.name) &&
      (blow.until === 'anyone' || !old.has(bodyOf(moment))),
  )
  return next ? next.at - blow.at : null
}
