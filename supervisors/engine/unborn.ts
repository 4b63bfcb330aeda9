import type { Port } from '../../protocol/port.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import { Failure, hasCode } from '../../src/failure.ts'
import type { Start, Vessel, Vessels } from './vessel.ts'

/** Starts that the system refuses: for want of memory, descriptors, processes. */

/** What is done about each, by its code. */
const remedies: Readonly<Record<string, string>> = {
  E2BIG: 'Start the run with a smaller environment.',
  EAGAIN: 'Raise the limit of processes and threads (`ulimit -u`, the container’s pids).',
  EMFILE: 'Raise the limit of open files (`ulimit -n`).',
  ENFILE: 'Raise the system’s limit of open files (fs.file-max).',
  ENOENT: 'Restore the program that runs this: it is not where it was.',
  ENOMEM: 'Free memory, or use fewer devices, or a smaller model.',
}

/** It may pass, and counts as any other death: the restart window says how often it is tried. */
export function refusedStart(what: string, error: unknown): Failure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const remedy = remedies[code] ?? 'See that the system lets a process or a thread be started.'
  return new Failure('unavailable', `the system did not start it. what=${what}`, {
    cause: error,
    remedy,
  })
}

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
