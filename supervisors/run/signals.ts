import { type Clock, systemClock } from '../../src/clock.ts'

/** Signals that end a run: the first drains, the second hurries, the third leaves at once. */

const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

export type EndSignal = keyof typeof numbers

export const endSignals: readonly EndSignal[] = ['SIGHUP', 'SIGINT', 'SIGTERM']

/** The exit code that the shell's convention gives to an end by this signal. */
export const exitCodeOf = (signal: EndSignal): number => 128 + numbers[signal]

export type Urgency = 'drain' | 'hurry' | 'leave'

/**
 * Counts them. A terminal, npm and the launcher may each pass the same one on, on a busy machine
 * tens of milliseconds apart: what follows within a moment is the same signal still, and takes
 * nobody's time to save (known-faults B44).
 */
export function countSignals(clock: Clock = systemClock, sameWithinMs = 250): () => Urgency | null {
  let count = 0
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock.now()
    if (now - last < sameWithinMs) return null
    last = now
    count++
    return count === 1 ? 'drain' : count === 2 ? 'hurry' : 'leave'
  }
}

/** Calls `told` for each signal that counts. */
export function onEndSignals(told: (signal: EndSignal, urgency: Urgency) => void): void {
  const urgency = countSignals()
  for (const signal of endSignals) {
    process.on(signal, () => {
      const next = urgency()
      if (next) told(signal, next)
    })
  }
}
