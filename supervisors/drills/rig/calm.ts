import { z } from 'zod'
import { Failure } from '../../../src/failure.ts'
import type { Job } from './job.ts'
import type { Moment } from './moments.ts'
import { start } from './process.ts'
import type { Scope } from './scope.ts'
import { readStored, type Stored } from './stored.ts'
import { readTrained, stepsIn, type Trained } from './trained.ts'

/** What a job comes to where nothing disturbs it, and what that takes. */
export interface Calm {
  readonly stored: Stored
  /** Of all usable rows. */
  readonly hashes: ReadonlySet<string>
  readonly batches: number
  /** By the name of each moment: how often a thread has met it at most. */
  readonly calls: ReadonlyMap<string, number>
  readonly samples: number
  /** Null where nothing is trained. */
  readonly trained: Trained | null
}

/**
 * Runs the job to its end.
 *
 * @throws Failure `invalid`: it does not end well, undisturbed as it is
 */
export async function calmRun(scope: Scope, job: Job): Promise<Calm> {
  const crash = { noted: true } as const
  const running = start(scope, ['run', job.config, '--json'], { ...job, endMs: 3_600_000, crash })
  const { code, stdout, stderr } = await running.ended()
  if (code !== 0) {
    const why = reasonIn(stdout) ?? stderr.trim().split('\n').at(-1)
    throw new Failure('invalid', `an undisturbed run does not end well. code=${code}: ${why}`, {
      remedy: 'See draftsmith check CONFIG: a drill needs a run that works.',
    })
  }
  const stored = await readStored(job)
  const moments = running.moments()
  const batches = moments.filter(({ name }) => name === 'extractor.computed').length
  const trained = stepsIn(job) > 0 ? await readTrained(job) : null
  const hashes = new Set(stored.entries.map(({ hash }) => hash))
  return { stored, hashes, batches, calls: mostCalls(moments), samples: hashes.size, trained }
}

const resultSchema = z.object({ state: z.string(), reason: z.string().nullable() })

/** Of what `run --json` tells; undefined where it told nothing. */
export function reasonIn(stdout: string): string | undefined {
  const told = resultSchema.safeParse(parsed(stdout)).data
  return told && (told.reason ?? `it ended ${told.state}`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function mostCalls(moments: readonly Moment[]): Map<string, number> {
  const calls = new Map<string, number>()
  const most = new Map<string, number>()
  for (const { pid, thread, name } of moments) {
    const by = `${pid}/${thread}/${name}`
    const count = (calls.get(by) ?? 0) + 1
    calls.set(by, count)
    most.set(name, Math.max(count, most.get(name) ?? 0))
  }
  return most
}
