/** What goes wrong, on demand: each fault takes the requests that it matches, so many times. */
import { z } from 'zod'

const kindSchema = z.union([
  /** Reads the body, answers an error. `retryAfter`: seconds. */
  z.object({
    kind: z.literal('error'),
    status: z.number(),
    code: z.string(),
    retryAfter: z.number().optional(),
  }),
  z.object({ kind: z.literal('delay'), ms: z.number() }),
  /** Reads the body no faster than this. */
  z.object({ kind: z.literal('crawl'), bytesPerSecond: z.number() }),
  /** Answers 503 SlowDown to all but one request in so many milliseconds. */
  z.object({ kind: z.literal('throttle'), everyMs: z.number() }),
  z.object({
    kind: z.enum([
      /** Reads half of the body, answers 503 SlowDown, closes. */
      'half-read',
      /** Reads half of the body, then resets the connection. */
      'reset',
      /** Reads the body and never answers. */
      'stall',
      /** Goes on once this fault is gone: used up, or taken away. */
      'hold',
      /** Answers so slowly that no idle time-out fires. */
      'drip',
      /** Does what is asked, then resets the connection. */
      'drop-answer',
      /** Breaks off in the middle of the answer's body. */
      'cut-answer',
      /** Keeps half of the body, answers 200 without a checksum. */
      'truncate',
      /** One bit of the body changes on its way. */
      'flip',
      /** Answers 200 with what is no XML. */
      'garbage',
      /** Answers 200 with a web page, whatever is asked. */
      'portal',
      /** Answers 200 with an error as its body. */
      'error-in-200',
      /** Answers 501 to any x-amz-checksum header or trailer. */
      'refuse-checksums',
      /** Puts whatever the conditions say. */
      'ignore-conditions',
      /** Completes an upload only where all parts but the last have one size, as R2 does. */
      'equal-parts',
      /** Lists two at a time. */
      'short-pages',
      /** Says of a page that more follows, and not where. */
      'lost-marker',
      /** Answers 200 and goes on and on. */
      'endless',
      /** Says of every page that more follows, at one and the same place. */
      'stuck-marker',
    ]),
  }),
])

const matchSchema = z.object({
  /** As S3 names them: PutObject, GetObject, HeadObject, ListObjectsV2, … */
  operation: z.string().optional(),
  /** A part of the key. */
  key: z.string().optional(),
  accessKeyId: z.string().optional(),
})

export const faultSchema = z.intersection(
  z.object({ match: matchSchema.optional(), times: z.number() }),
  kindSchema,
)
export type Fault = z.infer<typeof faultSchema>

/** The first fault that matches and is not used up; it is used once more by this. */
export function takeFault(
  faults: Fault[],
  request: { readonly operation: string; readonly key: string; readonly accessKeyId: string },
): Fault | undefined {
  const index = faults.findIndex(({ match = {} }) => {
    if (match.operation !== undefined && match.operation !== request.operation) return false
    if (match.accessKeyId !== undefined && match.accessKeyId !== request.accessKeyId) return false
    return match.key === undefined || request.key.includes(match.key)
  })
  const fault = faults[index]
  if (!fault) return undefined
  fault.times -= 1
  if (fault.times <= 0) faults.splice(index, 1)
  return fault
}
