import { Failure } from '../src/failure.ts'

/**
 * What did not come up, for a reason that is not its own word: the system refused it, or it was
 * late. It tells nothing of what it waits for, such as a store.
 */
export class NotStarted extends Failure {}

/** What is done about a refusal, by its code: for want of memory, descriptors, processes. */
const remedies: Readonly<Record<string, string>> = {
  E2BIG: 'Start the run with a smaller environment.',
  EAGAIN: 'Raise the limit of processes and threads (`ulimit -u`, the container’s pids).',
  EMFILE: 'Raise the limit of open files (`ulimit -n`).',
  ENFILE: 'Raise the system’s limit of open files (fs.file-max).',
  ENOENT: 'Restore the program that runs this: it is not where it was.',
  ENOMEM: 'Free memory, or use fewer devices, or a smaller model.',
}

/** It may pass, and counts as any other death: the restart window says how often it is tried. */
export function refusedStart(what: string, error: unknown): NotStarted {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const remedy = remedies[code] ?? 'See that the system lets a process or a thread be started.'
  return new NotStarted('unavailable', `the system did not start it. what=${what}`, {
    cause: error,
    remedy,
  })
}
