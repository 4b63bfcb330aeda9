import type { ChildSpec } from '../../protocol/child.ts'
import type { Port } from '../../protocol/port.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import type { Clock } from '../../src/clock.ts'
import type { LogTarget } from '../../src/log.ts'

/**
 * What carries an actor from one start to its end: all that the engine knows of threads and
 * processes. What a silence, a refusal or an end means is decided above it.
 */
export interface Vessel {
  /** The actor answers `controlContract` at the other end. It closes with the vessel. */
  readonly control: Port
  /** Of the process that is the actor's own; null where it has none. */
  readonly pid: number | null
  /** Signs of life, as far as they have come here. */
  reading(): PulseReading
  /** Whether it is in native code, where ending it would end others too. */
  readonly isInside: boolean
  /**
   * Ends it as soon as that harms nobody else: the actor enters native code no more. Its end is
   * told to `onEnd`. Asking again is allowed.
   *
   * @param patienceMs  for it to come out of native code
   * @returns           false where it is inside yet, and cannot be ended
   */
  end(patienceMs: number): Promise<boolean>
}

/** What a vessel is made from. */
export interface Start {
  readonly spec: Pick<ChildSpec, 'id' | 'entry' | 'input' | 'heartbeatMs'>
  /** 1 for the first start of this actor in this process. */
  readonly generation: number
  readonly clock: Clock
  /** Where the actor writes. */
  readonly log: LogTarget
  /** Called once, when it is gone, whoever ended it. */
  readonly onEnd: (end: End) => void
}

/** How an actor's vessel came to its end. */
export interface End {
  /** Null where a signal ended it, or where it was never started. */
  readonly code: number | null
  readonly signal: string | null
  /** What the actor threw; undefined where it threw nothing. */
  readonly error: unknown
}

/** How each kind is made. */
export interface Vessels {
  readonly thread: (start: Start) => Vessel
  readonly process: (start: Start) => Vessel
  /** The two ends of a new wire. */
  readonly pair: () => { readonly port1: Port; readonly port2: Port }
}
