import type { Death } from '../../protocol/child.ts'
import type { Failure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'

/** What happens in a tree, for whoever watches it; each of them is a line in the log too. */
export type TreeEvent =
  /** It is up; `generation` counts its starts, those that failed too. */
  | { readonly kind: 'started'; readonly child: string; readonly generation: number }
  /** Its supervisor ended it, with its siblings or in a stop. */
  | { readonly kind: 'ended'; readonly child: string; readonly death: Death }
  | { readonly kind: 'died'; readonly child: string; readonly death: Death }
  | {
      readonly kind: 'restarting'
      readonly child: string
      readonly death: Death
      readonly inMs: number
      /** Restarts of this child in all, this one included. */
      readonly count: number
      /** All that start again, in order. */
      readonly cohort: readonly string[]
    }
  | {
      readonly kind: 'gaveUp'
      readonly supervisor: string
      readonly child: string
      readonly failure: Failure
    }
  /** It is to be ended, and is inside native code: that is waited for, so long at most. */
  | {
      readonly kind: 'awaited'
      readonly child: string
      readonly work: string
      readonly patienceMs: number
    }
  | { readonly kind: 'drained'; readonly child: string }
  /** It could not finish what it held in its time: that is left for the next run. */
  | { readonly kind: 'undrained'; readonly child: string; readonly error: unknown }
  /** A stop in a hurry does not wait for what it holds, or has announced to be at. */
  | { readonly kind: 'left'; readonly child: string; readonly work: string | null }
  /** It is inside native code past its deadline, and cannot be ended but with the whole process. */
  | {
      readonly kind: 'wedged'
      readonly child: string
      readonly death: Death
      /** It was given no time to come out of it. */
      readonly hurried: boolean
    }

export function logEvent(log: Log, event: TreeEvent): void {
  const { level, fields, line } = lineOf(event)
  log[level](fields, line)
}

interface Line {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'fatal'
  readonly fields: Readonly<Record<string, unknown>>
  readonly line: string
}

function lineOf(event: TreeEvent): Line {
  const { child } = event
  switch (event.kind) {
    case 'started':
      return { level: 'info', fields: { child, generation: event.generation }, line: 'started' }
    case 'ended':
      return { level: 'info', fields: { child, reason: event.death.reason }, line: 'ended' }
    case 'died': {
      const level = event.death.cause === 'ordered' ? 'info' : 'warn'
      return { level, fields: describe(event.death), line: 'died' }
    }
    case 'restarting': {
      const { death, count, cohort } = event
      const fields = { ...describe(death), count, inMs: Math.round(event.inMs), cohort }
      return { level: 'warn', fields, line: 'restarting' }
    }
    case 'gaveUp': {
      const fields = { supervisor: event.supervisor, child, err: event.failure }
      return { level: 'error', fields, line: 'gave up' }
    }
    case 'awaited': {
      const { work, patienceMs } = event
      const fields = { child, work, patienceMs: Math.round(patienceMs) }
      return { level: 'info', fields, line: 'is ended once it is outside native code' }
    }
    case 'drained':
      return { level: 'info', fields: { child }, line: 'drained' }
    case 'undrained':
      return { level: 'warn', fields: { child, err: event.error }, line: 'not drained' }
    case 'left':
      // Whoever hurried is told of all of them in one line.
      return { level: 'debug', fields: { child, work: event.work }, line: 'left as it is' }
    case 'wedged': {
      const level = event.hurried ? 'debug' : 'fatal'
      return { level, fields: describe(event.death), line: 'cannot be ended' }
    }
  }
}

const describe = ({ child, cause, reason, failure }: Death) => ({
  child,
  cause,
  reason,
  ...(failure === undefined ? {} : { err: failure }),
})
