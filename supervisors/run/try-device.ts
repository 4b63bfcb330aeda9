import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type PackedError, unpackError } from '../../protocol/packed-error.ts'
import { Failure } from '../../src/failure.ts'

/**
 * Whether a device computes, found out in a process of its own: a driver that aborts, or hangs,
 * ends that one alone, and what it keeps of the device's memory goes with it.
 */

/** A driver's first start may compile. */
const tryMs = 300_000
/** A driver may keep it from its end. */
const endsMs = 5_000
const trial = new URL('./device-trial.js', import.meta.url)
const stderrFd = 2

/**
 * @param work  where a tiny model is laid out
 * @throws      Failure `invalid`: there is no such device, its provider is not installed, or it
 *              ends the process that tries it
 */
export async function tryDevice(
  device: string,
  work: string,
  options: TrialOptions = {},
): Promise<void> {
  // The processor is always there.
  if (device === 'cpu') return
  const { error, how } = await tried([device, work], options)
  if (error) throw unpackError(error)
  if (error === undefined) {
    throw new Failure('invalid', `the device ended the process that tried it. device=${device}`, {
      cause: new Error(how),
      remedy: 'See what it wrote above, and its driver’s log; or compute on another device.',
    })
  }
}

interface TrialOptions {
  /** Default: the trial of the program. */
  readonly entry?: URL
  /** Ends the trial: nobody waits for what it finds. */
  readonly signal?: AbortSignal
  /** Milliseconds; default: five minutes, and five seconds to its end after them. */
  readonly within?: { readonly tryMs: number; readonly endsMs: number }
}

interface Tried {
  /** Undefined where it found nothing out. */
  error: PackedError | null | undefined
  how: string
}

function tried(
  args: readonly string[],
  { entry = trial, signal: asked, within = { tryMs, endsMs } }: TrialOptions,
): Promise<Tried> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(entry), args, {
      // What is printed by the way must not stand among what the command prints.
      stdio: ['ignore', stderrFd, stderrFd, 'ipc'],
    })
    let found: Tried['error']
    let ending: NodeJS.Timeout | undefined
    const settle = (how: string) => {
      clearTimeout(late)
      clearTimeout(ending)
      asked?.removeEventListener('abort', kill)
      resolve({ error: found, how })
    }
    const kill = () => {
      child.kill('SIGKILL')
      ending ??= setTimeout(() => {
        leaveBe(child)
        settle('it was killed, and does not end')
      }, within.endsMs)
    }
    const late = setTimeout(kill, within.tryMs)
    asked?.addEventListener('abort', kill)
    if (asked?.aborted) kill()
    child.once('message', (told: { readonly error: PackedError | null }) => {
      found = told.error
    })
    child.once('error', (error) => settle(error.message))
    child.once('close', (code, signal) =>
      settle(signal ? `ended by ${signal}` : `exit code ${code}`),
    )
  })
}

/** It keeps this process no longer. */
function leaveBe(child: ChildProcess): void {
  child.unref()
  if (child.connected) child.disconnect()
}
