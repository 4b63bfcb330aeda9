import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import {
  type DestinationStream,
  destination,
  type Level,
  type Logger,
  multistream,
  pino,
} from 'pino'
import type { prettyFactory as PrettyFactory } from 'pino-pretty'
import { Failure } from './failure.ts'

/**
 * Owns how lines are written: at once, before the call returns. The last words of a dying thread
 * matter most here, and asynchronous destinations lose them.
 */

export type Log = Logger

export interface LogTarget {
  readonly level: Level
  /** JSON lines are appended to it; its folder is made. */
  readonly file?: string
  readonly stderr: 'json' | 'pretty' | 'none'
}

const stderrFd = 2
/** Of the streams: the log's own level decides, and may be changed. */
const all: Level = 'trace'
/** Deeper chains of causes are a loop. */
const causesMax = 16

/**
 * A log whose every line names its actor. Several threads and processes may write to one file.
 *
 * @throws Failure `invalid`: the file cannot be written
 */
export function openLog(options: LogTarget & { readonly actor: string }): Log {
  const streams: { level: Level; stream: DestinationStream }[] = []
  if (options.file !== undefined) {
    streams.push({ level: all, stream: openFile(options.file) })
  }
  if (options.stderr !== 'none') {
    const plain = openStream(stderrFd)
    const stream = options.stderr === 'pretty' ? readable(plain) : plain
    streams.push({ level: all, stream })
  }
  return pino(
    {
      level: streams.length === 0 ? 'silent' : options.level,
      base: { actor: options.actor },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    multistream(streams),
  )
}

function openFile(path: string): DestinationStream {
  try {
    mkdirSync(dirname(path), { recursive: true })
    return openStream(path)
  } catch (cause) {
    throw new Failure('invalid', `the log cannot be written. file=${path}`, {
      remedy: 'Give a work folder that can be written to.',
      cause,
    })
  }
}

function openStream(dest: string | number): DestinationStream {
  const stream = destination({ dest, sync: true, append: true })
  // A full disk or a closed terminal loses lines; it must not end the work that they tell of.
  stream.on('error', () => undefined)
  return stream
}

/** For people at a terminal. pino-pretty's own stream buffers; its formatter does not. */
function readable(plain: DestinationStream): DestinationStream {
  // Loaded here, not above: most processes and all threads write JSON lines.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as {
    prettyFactory: typeof PrettyFactory
  }
  const format = prettyFactory({
    colorize: true,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
  })
  return { write: (line) => plain.write(format(line)) }
}

interface Described {
  readonly type: string
  readonly message: string
  readonly kind?: string
  readonly remedy?: string
  readonly code?: unknown
  readonly causes?: readonly Described[]
  readonly stack?: string
}

/** An error with its causes, outermost first. A Failure's stack says nothing: bugs have one. */
export function describeError(error: unknown): Described {
  const causes: Described[] = []
  let cause = error instanceof Error ? error.cause : undefined
  while (cause !== undefined && causes.length < causesMax) {
    causes.push(describeOne(cause))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  const described = describeOne(error)
  return causes.length === 0 ? described : { ...described, causes }
}

function describeOne(error: unknown): Described {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  if (error instanceof Failure) {
    const remedy = error.remedy === undefined ? {} : { remedy: error.remedy }
    return { type: error.name, kind: error.kind, message: error.message, ...remedy }
  }
  const code = 'code' in error ? { code: error.code } : {}
  const stack = error.stack === undefined ? {} : { stack: error.stack }
  return { type: error.name, message: error.message, ...code, ...stack }
}
