import type { RunStatus } from '../../../protocol/console.ts'
import { isFailure } from '../../../src/failure.ts'
import { askSupervisor } from '../../../supervisors/run/workplace.ts'
import type { Job } from './job.ts'
import type { Running } from './process.ts'

/** What a running draftsmith answers on the socket of its work folder. */

/** A line as it is typed in the console; the answer's text. */
export async function ask(job: Pick<Job, 'work'>, line: string): Promise<string> {
  const { text, error } = await askSupervisor(job.work, line)
  return error === undefined ? text : `error: ${error}`
}

/** The first status of which this is true. */
export function statusWhen(
  run: Running,
  job: Pick<Job, 'work'>,
  is: (status: RunStatus) => boolean,
): Promise<RunStatus> {
  return run.until('the awaited status', async () => {
    const status = await statusOf(job)
    return status && is(status) ? status : undefined
  })
}

/** Undefined before the run listens. */
async function statusOf(job: Pick<Job, 'work'>): Promise<RunStatus | undefined> {
  try {
    return (await askSupervisor(job.work, 'status')).status
  } catch (error) {
    if (isFailure(error, 'unavailable')) return undefined
    throw error
  }
}
