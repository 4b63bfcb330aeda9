import { z } from 'zod'
import { Failure } from '../src/failure.ts'
import type { RunStatus } from './console.ts'

/**
 * Between a console and the run, over the work folder's socket: a line in, lines of JSON out, of
 * which the last is `end`. A line is what a person types, or one of those below, which are no
 * command's name. Of an empty line nothing but its `end` is told.
 */

const consoleVersion = 1

/** Longer ones are refused, and their connection closed. */
export const lineBytesMax = 8192

/**
 * Ends the command that is under way, and is not answered itself. It is no text: control characters
 * of a line that was typed are not sent.
 */
export const interruptSign = '\x03'

/** `who JSON`: who asks, as he says; answered by who is asked. First of all. */
export const whoWord = 'who'
/** `complete LINE`: what may stand in its place. */
export const completeWord = 'complete'
/** As `status`, of one who watches: it is not noted as a command. */
export const pollWord = 'poll'

/** The same version of the program made it: only whether it is an object is looked at. */
const runStatus = z.custom<RunStatus>((value) => typeof value === 'object' && value !== null)

const answer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('who'), pid: z.number() }),
  z.object({ kind: z.literal('text'), text: z.string() }),
  z.object({ kind: z.literal('status'), status: runStatus }),
  /** Lines of the log follow, until the command is interrupted. */
  z.object({ kind: z.literal('follows') }),
  /** A line of the log as it stands there; more follow. */
  z.object({ kind: z.literal('log'), line: z.string() }),
  z.object({ kind: z.literal('choices'), choices: z.array(z.string()) }),
  z.object({ kind: z.literal('error'), error: z.string(), remedy: z.string().nullable() }),
  z.object({ kind: z.literal('end') }),
])

export type ConsoleAnswer = z.output<typeof answer>

export const encodeAnswer = (told: ConsoleAnswer): string =>
  `${JSON.stringify({ v: consoleVersion, ...told }, marked)}\n`

/** JSON has no NaN and no infinity, which a step that was skipped has for its loss. */
const marked = (_: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? { notFinite: String(value) } : value

const notFinite = z.strictObject({ notFinite: z.enum(['NaN', 'Infinity', '-Infinity']) })

const unmarked = (_: string, value: unknown): unknown => {
  const { data } = notFinite.safeParse(value)
  return data ? Number(data.notFinite) : value
}

const versioned = z.looseObject({ v: z.number() })

/** @throws Failure `invalid`: it is of another version, or no answer; a SyntaxError: no JSON */
export function decodeAnswer(line: string): ConsoleAnswer {
  // Of one who died amid an answer, half a line comes: no Failure, for it says nothing.
  const told: unknown = JSON.parse(line, unmarked)
  const { data } = versioned.safeParse(told)
  const known = data?.v === consoleVersion ? answer.safeParse(told).data : undefined
  if (known) return known
  throw new Failure(
    'invalid',
    `the console's answer is not understood. want=version ${consoleVersion}, found=${data?.v}`,
    { remedy: 'Use the same version of draftsmith as the run.' },
  )
}
