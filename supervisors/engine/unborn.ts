import type { Port } from '../../protocol/port.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import { hasCode } from '../../src/failure.ts'
import { refusedStart } from '../refused-start.ts'
import type { Start, Vessel, Vessels } from './vessel.ts'

/** Starts that the system refuses. */

/** A vessel, whatever the system says to it: where it refuses, one that ends at once. */
export function born({ pair, ...kinds }: Vessels, kind: keyof typeof kinds, start: Start): Vessel {
  try {
    return kinds[kind](start)
  } catch (error) {
    const isSystems =
      error instanceof Error && ('syscall' in error || hasCode(error, 'ERR_WORKER_INIT_FAILED'))
    if (!isSystems) throw error
    return new Unborn(start, pair().port1, error)
  }
}

/** Its end is told as that of one that had started. */
class Unborn implements Vessel {
  readonly control: Port
  readonly pid = null
  readonly isInside = false

  constructor({ onEnd, spec }: Start, control: Port, error: Error) {
    this.control = control
    // Not before whoever starts it knows of it.
    queueMicrotask(() => {
      control.close()
      onEnd({ code: null, signal: null, error: refusedStart(spec.id, error) })
    })
  }

  reading(): PulseReading {
    return { beats: 0, announced: 0, busy: undefined, work: '' }
  }

  end(): Promise<boolean> {
    return Promise.resolve(true)
  }
}
