import { z } from 'zod'
import { near } from '../near.ts'

/** What is wrong with a configuration, all at once, each line with its path and what was wanted. */

/** One line for each fault that the schema finds. */
export function describeIssues(schema: z.ZodType, error: z.ZodError, input: unknown): string[] {
  return error.issues.flatMap((issue) => describe(schema, issue, input))
}

function describe(schema: z.ZodType, issue: z.core.$ZodIssue, input: unknown): string[] {
  const at = issue.path.length ? issue.path.join('.') : 'the configuration'
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path)
    const prefix = issue.path.length ? `${issue.path.join('.')}.` : ''
    return issue.keys.map((key) => `${prefix}${key}: no such key.${nearest(key, known)}`)
  }
  if (issue.code === 'invalid_type' && valueAt(input, issue.path) === undefined) {
    return [`${at}: missing. want=${issue.expected}`]
  }
  if (issue.code === 'invalid_type') {
    return [`${at}: want=${issue.expected}, found=${show(valueAt(input, issue.path))}`]
  }
  if (issue.code === 'invalid_value') {
    const found = valueAt(input, issue.path)
    const hint = typeof found === 'string' ? nearest(found, issue.values.map(String)) : ''
    return [`${at}: want=${issue.values.join(' or ')}, found=${show(found)}.${hint}`]
  }
  return [`${at}: ${issue.message}, found=${show(valueAt(input, issue.path))}`]
}

/** ` Nearest: x` where one of the names is near enough to be what was meant, else the names. */
export function nearest(name: string, known: readonly string[]): string {
  if (known.length === 0) return ''
  const guess = near(name, known)
  return guess === undefined ? ` Known: ${known.join(', ')}` : ` Nearest: ${guess}`
}

function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema
  for (const step of path) {
    const object = unwrap(at)
    at = object instanceof z.ZodObject ? object.shape[String(step)] : undefined
  }
  const object = unwrap(at)
  return object instanceof z.ZodObject ? Object.keys(object.shape) : []
}

function unwrap(schema: unknown): unknown {
  let at = schema
  while (
    at instanceof z.ZodOptional ||
    at instanceof z.ZodDefault ||
    at instanceof z.ZodPrefault ||
    at instanceof z.ZodNullable
  ) {
    at = at.unwrap()
  }
  return at
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let at = input
  for (const step of path) at = (at as Record<PropertyKey, unknown> | null | undefined)?.[step]
  return at
}

/** Cut where it is long; what may be a password in a URL stays out of messages. */
function show(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'nothing').replace(/\/\/[^/@\s]*@/g, '//…@')
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}
