import { isDeepStrictEqual } from 'node:util'
import { Failure } from '../failure.ts'
import type { Answer, S3Connection } from './s3-connection.ts'

/** A store's place: a bucket and the start of all its keys. */
export interface S3Bucket {
  readonly connection: S3Connection
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly root: string
  readonly url: string
  /** False: no x-amz-checksum header is sent. */
  readonly checksums: boolean
}

/**
 * Where a listing goes on, undefined after its last page. A page that says that more follows, and
 * not where, is no end: what it leaves out would be taken for absent.
 *
 * @param next  as the page says it, empty or undefined where it does not
 * @param at    what the page was asked by: one that sends there again would never end
 */
export function nextOf<Marker>(
  page: { readonly IsTruncated?: boolean | undefined },
  next: Marker | '' | undefined,
  { at, what }: { readonly at: Marker | undefined; readonly what: string },
): Marker | undefined {
  if (!page.IsTruncated) return undefined
  const remedy = 'Look for what cuts listings short: the store itself, or a proxy before it.'
  if (!next) {
    throw new Failure('unavailable', `store ends a listing in its middle. store=${what}`, {
      remedy,
    })
  }
  if (!isDeepStrictEqual(next, at)) return next
  throw new Failure('invalid', `store lists one page over and over. store=${what}`, { remedy })
}

/** The answer of a request that names no object which might be absent. */
export function there<T>(answer: Answer<T>, what: string): T {
  if (answer.kind === 'done') return answer.value
  throw new Failure('invalid', `store knows no such bucket. store=${what}`, {
    remedy: 'Create the bucket, or correct store.',
  })
}
