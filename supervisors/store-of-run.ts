import { z } from 'zod'
import { systemClock } from '../src/clock.ts'
import { valuesIn } from '../src/config/load.ts'
import type { S3Config } from '../src/config/schema.ts'
import { isFailure } from '../src/failure.ts'
import { openLog } from '../src/log.ts'
import type { Run } from '../src/run/identity.ts'
import { configKey, requireRun, runKey } from '../src/run/stored-run.ts'
import type { Acquire } from '../src/store/limited.ts'
import { type StorePlace, soleStore } from '../src/store/patient.ts'
import type { S3Options } from '../src/store/s3-connection.ts'
import type { ObjectStore } from '../src/store/store.ts'
import { consoleTarget } from './log-target.ts'

/** A run's store, as the commands find it that are given the store alone. */

/** How a command is told where a bucket is. */
export interface StoreOptions {
  readonly endpoint?: string | undefined
  readonly region?: string | undefined
}

/** What was given is taken; of the rest, what the AWS variables say. */
export function s3Here(options: StoreOptions): Partial<S3Config> {
  const { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_DEFAULT_REGION } = process.env
  return s3Given({
    endpoint: options.endpoint ?? (AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL || undefined),
    region: options.region ?? (AWS_REGION || AWS_DEFAULT_REGION || undefined),
  })
}

export const s3Given = ({ endpoint, region }: StoreOptions): Partial<S3Config> => ({
  ...(endpoint !== undefined && { endpoint }),
  ...(region !== undefined && { region }),
})

/** For a store that may not be there. */
const hastyTimeouts = { connectMs: 3_000, idleMs: 5_000 }
/** How long a store is waited for that was there a moment ago. */
const awayMs = 5 * 60_000
/** A store that stumbles is not spoken of; one that stays away is, now and then. */
const quietTries = 4
const sayMs = 30_000

/** What lies in a store that a command was given. */
interface Found {
  readonly run: Run
  /** Undefined: the run was stopped before it was put there. */
  readonly configText: string | undefined
}

interface StoreOfRun extends Found {
  readonly store: ObjectStore
  /** With the settings that the run's own configuration has for it. */
  readonly place: StorePlace
}

/**
 * The store of a run, as a command beside the run uses it. One that cannot be reached is told of
 * within half a minute; one that could is waited for.
 *
 * @throws   Failure `unavailable`: it does not answer; `invalid`: it holds no run; `corrupt`
 */
export async function storeOfRun(
  asked: StorePlace,
  { actor, acquire }: { readonly actor: string; readonly acquire: Acquire },
): Promise<StoreOfRun> {
  const { run, configText } = await firstContact(asked, acquire)
  const s3 = { ...settingsIn(configText ?? ''), ...asked.s3 }
  const place = { url: asked.url, s3, mark: runKey }
  const log = openLog({ ...consoleTarget, actor })
  let saidAt = Number.NEGATIVE_INFINITY
  const store = await soleStore(place, {
    acquire,
    attempts: Number.POSITIVE_INFINITY,
    deadlineMs: awayMs,
    onRetry: ({ failure, attempt }) => {
      if (attempt < quietTries || systemClock.now() - saidAt < sayMs) return
      saidAt = systemClock.now()
      log.warn({ err: failure }, 'the store does not answer: waiting for it')
    },
  })
  return { store, run, configText, place }
}

/** Of the configuration, what tells how such a store is spoken to; all else is no matter here. */
const spokenTo = z.object({
  s3: z.object({
    pathStyle: z.boolean().optional(),
    checksums: z.enum(['when-supported', 'when-required']).optional(),
  }),
})

async function firstContact({ url, s3 }: StorePlace, acquire: Acquire): Promise<Found> {
  const hasty = { ...s3, timeouts: hastyTimeouts }
  try {
    return await foundAt({ url, s3: hasty }, { acquire })
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    // A few stores know a bucket by its host's name alone, and only their run could tell.
    const byHost = { url, s3: { ...hasty, pathStyle: false } }
    return await foundAt(byHost, { acquire, attempts: 1 }).catch((other: unknown) => {
      throw isFailure(other) ? error : other
    })
  }
}

async function foundAt(
  place: StorePlace,
  use: { readonly acquire: Acquire; readonly attempts?: number },
): Promise<Found> {
  const store = await soleStore(place, use)
  try {
    const run = await requireRun(store)
    const text = await store.get(configKey)
    return { run, configText: text?.toString('utf8') }
  } finally {
    store.close()
  }
}

function settingsIn(text: string): S3Options {
  try {
    const { pathStyle, checksums } = spokenTo.parse(valuesIn(text, configKey)).s3
    return {
      ...(pathStyle !== undefined && { pathStyle }),
      ...(checksums !== undefined && { checksums }),
    }
  } catch (error) {
    // Whoever needs all of it will say what is wrong with it.
    if (isFailure(error) || error instanceof z.ZodError) return {}
    throw error
  }
}
