/** Settings that may change while a run lives: until its process ends, the file stays as it is. */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import { nearest } from './errors.ts'
import { bytes, count } from './fields.ts'
import { type Config, maxParallel } from './schema.ts'
import { formatBytes } from './sizes.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof logLevels)[number]

/** By their names in the configuration; `log.level` has none there. Sizes in bytes. */
export interface LiveSettings {
  readonly 'upload.maxParallel': number
  readonly 'commit.every': number
  readonly 'commit.seconds': number
  readonly 'spool.maxBytes': number
  readonly 'spool.keepFree': number
  readonly 'train.checkpointMinutes': number
  readonly 'log.level': LogLevel
}

export type LiveKey = keyof LiveSettings

/** Those that were changed since the process began. */
export type ChangedSettings = Partial<LiveSettings>

interface LiveSetting<K extends LiveKey> {
  readonly means: string
  /** What values there are, as a message says it. */
  readonly range: string
  readonly schema: z.ZodType<LiveSettings[K]>
  readonly show: (value: LiveSettings[K]) => string
}

const number = (schema: z.ZodNumber): z.ZodType<number> =>
  z
    .string()
    .regex(/^\d{1,15}(\.\d{1,15})?$/)
    .transform(Number)
    .pipe(schema)

/** What is below it is no size that a person means. */
const bytesMin = 1

const size = (min: number): z.ZodType<number> =>
  bytes.refine((value) => Number.isSafeInteger(value) && value >= min)

const seconds = z.number().positive().max(86_400)
const minutes = z.number().positive().max(525_600)
const plain = (value: number): string => String(value)

export const liveSettings: { readonly [K in LiveKey]: LiveSetting<K> } = {
  'upload.maxParallel': {
    means: 'requests to the store at once, the lock’s among them',
    range: '1 to 10000',
    schema: number(maxParallel),
    show: plain,
  },
  'commit.every': {
    means: 'samples a manifest segment',
    range: '1 to 100000',
    schema: number(count.max(100_000)),
    show: plain,
  },
  'commit.seconds': {
    means: 'what is stored waits no longer for its commit',
    range: 'more than 0, to 86400',
    schema: number(seconds),
    show: plain,
  },
  'spool.maxBytes': {
    means: 'bytes that may wait on this disk',
    range: 'a size from 1B up, such as 100GB',
    schema: size(bytesMin),
    show: formatBytes,
  },
  'spool.keepFree': {
    means: 'bytes that the disk keeps free',
    range: 'a size from 0B up, such as 20GB',
    schema: size(0),
    show: formatBytes,
  },
  'train.checkpointMinutes': {
    means: 'between two checkpoints',
    range: 'more than 0, to 525600',
    schema: number(minutes),
    show: plain,
  },
  'log.level': {
    means: 'the least that the log tells',
    range: logLevels.join(', '),
    schema: z.enum(logLevels),
    show: (level) => level,
  },
}

export const isLiveKey = (key: string): key is LiveKey => Object.hasOwn(liveSettings, key)

/** Those that something in a run heeds, in the order they are shown. */
export const liveKeysOf = ({ train }: Pick<Config, 'train'>): LiveKey[] =>
  Object.keys(liveSettings)
    .filter(isLiveKey)
    .filter((key) => key !== 'train.checkpointMinutes' || train !== undefined)

/** Before anything was changed. */
export const settingsOfConfig = ({ commit, spool, train, upload }: Config): LiveSettings => ({
  'upload.maxParallel': upload.maxParallel,
  'commit.every': commit.every,
  'commit.seconds': commit.seconds,
  'spool.maxBytes': spool.maxBytes,
  'spool.keepFree': spool.keepFree,
  'train.checkpointMinutes': train?.checkpointMinutes ?? 0,
  'log.level': 'info',
})

/**
 * What a person typed, as a change.
 *
 * @param known  the names that may be given
 * @throws  Failure `invalid`: no such setting, with the nearest; or no such value, with the range
 */
export function parseSetting(
  key: string,
  text: string,
  known: readonly LiveKey[],
): ChangedSettings {
  if (!isLiveKey(key) || !known.includes(key)) {
    throw new Failure(
      'invalid',
      `${key} is no setting that may change now.${nearest(key, known)}`,
      {
        remedy: '`set` alone shows those that may.',
      },
    )
  }
  const { range, schema } = liveSettings[key]
  const parsed = schema.safeParse(text)
  if (parsed.success) return { [key]: parsed.data }
  throw new Failure('invalid', `no such value. setting=${key}, want=${range}, found=${text}`, {
    remedy: `Give ${key} a value in its range.`,
  })
}

/** As it is shown and typed. */
export function showSetting<K extends LiveKey>(key: K, value: LiveSettings[K]): string {
  return liveSettings[key].show(value)
}
