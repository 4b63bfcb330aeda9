import { systemClock } from '../src/clock.ts'
import { parseConfig } from '../src/config/load.ts'
import type { S3Config } from '../src/config/schema.ts'
import { openLog } from '../src/log.ts'
import type { Run } from '../src/run/identity.ts'
import { configKey, requireRun } from '../src/run/stored-run.ts'
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

/** How long a store is waited for that was there a moment ago. */
const awayMs = 5 * 60_000
/** A store that stumbles is not spoken of; one that stays away is, now and then. */
const quietTries = 4
const sayMs = 30_000

/**
 * The store of a run, as a command beside the run uses it. One that cannot be reached is told of
 * within seconds; one that could is waited for.
 *
 * @returns  also the place, with the settings that the run has for it
 * @throws    Failure `unavailable`: it does not answer; `invalid`: it holds no run, or its
 *            configuration is none; `corrupt`
 */
export async function storeOfRun(
  given: StorePlace,
  { actor, acquire }: { readonly actor: string; readonly acquire: Acquire },
): Promise<{ readonly store: ObjectStore; readonly run: Run; readonly place: StorePlace }> {
  const hasty = await soleStore(given, { acquire })
  const { run, s3 } = await foundIn(hasty).finally(() => hasty.close())
  const place = { url: given.url, s3: { ...s3, ...given.s3 } }
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
  return { store, run, place }
}

/** The run, and how its configuration says that such a store is spoken to. */
async function foundIn(store: ObjectStore): Promise<{ readonly run: Run; readonly s3: S3Options }> {
  const run = await requireRun(store)
  const text = await store.get(configKey)
  if (!text) return { run, s3: {} }
  const name = `${store.url}/${configKey}`
  const { config } = parseConfig(text.toString('utf8'), { name, base: process.cwd() })
  return { run, s3: { pathStyle: config.s3.pathStyle, checksums: config.s3.checksums } }
}
