/** A store's answer, where it is an error: the same shape that the SDK gives its own. */
import type { Incoming } from './http-answer.ts'

/** What `meaningOf` reads of an error. */
interface StoreError extends Error {
  readonly $metadata: { readonly httpStatusCode: number }
  readonly $response: { readonly headers: Incoming['headers'] }
}

/**
 * Undefined for an answer that grants what was asked. A 200 may be none: some stores begin to
 * answer before they are done, and then say in XML what went wrong; a portal in between answers
 * 200 to everything, without an object's tag.
 */
export function errorIn(answer: Incoming): StoreError | undefined {
  const { status, headers, body } = answer
  const granted = status >= 200 && status < 300
  const isError = /<Error[\s>]/.test(body)
  if (granted && !isError && (headers.etag !== undefined || body.trim() === '')) return undefined
  const message = textOf('Message', body) ?? `status ${status}`
  const error = new Error(message)
  error.name = textOf('Code', body) ?? 'Unknown'
  return Object.assign(error, {
    $metadata: { httpStatusCode: status },
    $response: { headers },
  })
}

const textOf = (tag: string, xml: string): string | undefined =>
  new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1]?.replace(/&(\w+);/g, unescapeXml)

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

const unescapeXml = (written: string, name: string): string => entities[name] ?? written
