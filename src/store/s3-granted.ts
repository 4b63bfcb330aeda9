/**
 * An answer of 200 may come from somebody else: a portal or a proxy in between grants everything,
 * with a page of its own. Taken for the store's, it would be an empty listing, or an object of
 * other bytes; so what the store always tells of itself must be in it.
 */
import { Readable } from 'node:stream'
import { Failure } from '../failure.ts'

/** What is read at once, where no range says less: the run's own files are far smaller. */
const bodyBytesMax = 2 ** 31

const foreign = (what: string, fact: string): Failure =>
  new Failure('unavailable', `the answer is not the store's: ${fact}. store=${what}`, {
    remedy: 'Check s3.endpoint, and what lies between: a portal, a proxy.',
  })

/** @throws Failure `unavailable`: every object has a tag, and this has none */
export function requireTag(found: { readonly ETag?: string | undefined }, what: string): void {
  if (found.ETag === undefined) throw foreign(what, 'it has no ETag')
}

interface Granted {
  readonly ETag?: string | undefined
  readonly ContentLength?: number | undefined
  readonly ContentEncoding?: string | undefined
  readonly Body?: unknown
}

/**
 * How many bytes of an object come now.
 *
 * @param most   that were asked for; absent: the whole object
 * @throws       Failure `unavailable`: it is none, or longer than what was asked for
 */
export function bodyLength(found: Granted, what: string, most = bodyBytesMax): number {
  try {
    requireTag(found, what)
    const { ContentEncoding = '', ContentLength } = found
    if (ContentLength === undefined) throw foreign(what, 'it tells no length')
    if (/\b(gzip|deflate|br|zstd)\b/i.test(ContentEncoding)) {
      throw foreign(what, `its bytes are packed, Content-Encoding=${ContentEncoding}`)
    }
    if (ContentLength <= most) return ContentLength
    throw foreign(what, `bytes: want=${most} at most, found=${ContentLength}`)
  } catch (error) {
    // Nobody will read it: its connection ends here, before the deadline.
    if (found.Body instanceof Readable) found.Body.destroy()
    throw error
  }
}

/** @throws Failure `unavailable`: every listing says whether it goes on, and this does not */
export function listing<T extends { readonly IsTruncated?: boolean | undefined }>(
  page: T,
  what: string,
): T {
  if (page.IsTruncated === undefined) throw foreign(what, 'it is no listing')
  return page
}

/** A key without the store's root; undefined for one that was not asked for. */
export function keyBelow(
  key: string | undefined,
  ask: { readonly root: string; readonly prefix: string },
): string | undefined {
  return key?.startsWith(ask.root + ask.prefix) ? key.slice(ask.root.length) : undefined
}
