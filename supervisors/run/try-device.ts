import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type PackedError, unpackError } from '../../protocol/packed-error.ts'
import { Failure } from '../../src/failure.ts'

/**
 * Whether a device computes, found out in a process of its own: a driver that aborts, or hangs,
 * ends that one alone, and what it keeps of the device's memory goes with it.
 */

/** A driver's first start may compile. */
const tryMs = 300_000
const trial = new URL('./device-trial.js', import.meta.url)
const stderrFd = 2

/**
 * @param work  where a tiny model is laid out
 * @throws      Failure `invalid`: there is no such device, its provider is not installed, or it
 *              ends the process that tries it
 */
export async function tryDevice(device: string, work: string, entry = trial): Promise<void> {
  // The processor is always there.
  if (device === 'cpu') return
  const { error, how } = await tried(entry, [device, work])
  if (error) throw unpackError(error)
  if (error === undefined) {
    throw new Failure('invalid', `the device ended the process that tried it. device=${device}`, {
      cause: new Error(how),
      remedy: 'See what it wrote above, and its driver’s log; or compute on another device.',
    })
  }
}

interface Tried {
  /** Undefined where it found nothing out. */
  error: PackedError | null | undefined
  how: string
}

function tried(entry: URL, args: readonly string[]): Promise<Tried> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(entry), args, {
      // What is printed by the way must not stand among what the command prints.
      stdio: ['ignore', stderrFd, stderrFd, 'ipc'],
      timeout: tryMs,
      killSignal: 'SIGKILL',
    })
    let found: Tried['error']
    child.once('message', (told: { readonly error: PackedError | null }) => {
      found = told.error
    })
    child.once('error', (error) => resolve({ error: found, how: error.message }))
    child.once('close', (code, signal) =>
      resolve({ error: found, how: signal ? `ended by ${signal}` : `exit code ${code}` }),
    )
  })
}
