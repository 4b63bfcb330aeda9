import { styleText } from 'node:util'
import { z } from 'zod'
import { fitted } from '../../src/fitted.ts'

/** Lines of a run's log, as people read them above its bars. */

const errorSchema = z.object({
  message: z.string(),
  remedy: z.string().optional(),
  stack: z.string().optional(),
  causes: z.array(z.object({ message: z.string() })).default([]),
})

const lineSchema = z.looseObject({
  level: z.string(),
  time: z.iso.datetime(),
  actor: z.string(),
  msg: z.string().default(''),
  err: errorSchema.optional(),
})

type Line = z.output<typeof lineSchema>

const colours: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
}

/**
 * `[12:00:00] INFO: ledger: manifest replayed committed=400`, broken to fit, and ended.
 *
 * @returns  the empty string for what the bars tell as well
 */
export function logLine(json: string, columns: number): string {
  const line = parsed(json)
  if (!line) return `${json}\n`
  if (line.msg === 'progress') return ''
  const { level, time, actor, msg, err, ...facts } = line
  const at = new Date(time).toTimeString().slice(0, 8)
  const label = level.toUpperCase()
  const told = Object.entries(facts).map(([name, value]) => `${name}=${fact(value)}`)
  const text = fitted([`[${at}] ${label}: ${actor}: ${msg}`, ...told].join(' '), columns, indent)
  const coloured = text.replace(label, styleText(colours[level] ?? 'green', label))
  return `${coloured}\n${errorLines(err, columns)}`
}

const indent = '    '

function errorLines(err: Line['err'], columns: number): string {
  if (!err) return ''
  const { message, remedy, stack, causes } = err
  const lines = [
    // A bug's stack begins with its message.
    stack ?? message,
    ...causes.map((cause) => `because ${cause.message}`),
    ...(remedy === undefined ? [] : [remedy]),
  ]
  return lines.map((line) => `${indent}${fitted(line, columns, indent)}\n`).join('')
}

function parsed(json: string): Line | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(json)).data
  } catch {
    return undefined
  }
}

/** Numbers to four digits, where they have more behind the point; words as they are. */
function fact(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') {
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)))
  }
  if (Array.isArray(value)) return `[${value.map(fact).join(', ')}]`
  return JSON.stringify(value) ?? String(value)
}
