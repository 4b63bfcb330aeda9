import type { MessagePort } from 'node:worker_threads'
import type { ChildSpec } from '../../protocol/child.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import type { Clock } from '../../src/clock.ts'
import type { LogTarget } from '../../src/log.ts'

/**
 * What carries an actor from one start to its end: all that the engine knows of threads. What a
 * silence, a refusal or an end means is decided above it.
 */
export interface Vessel {
  /** The actor answers `controlContract` at the other end. It closes with the vessel. */
  readonly control: MessagePort
  /** Signs of life, as far as they have come here. */
  reading(): PulseReading
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
  readonly spec: ChildSpec
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
  readonly code: number
  /** What the actor threw; undefined where it threw nothing. */
  readonly error: unknown
}

/** How each kind is made. */
export interface Vessels {
  readonly thread: (start: Start) => Vessel
}
