/**
 * One SDK client, set as measured, with the lean way to put beside it; and the attempt: one request
 * under a deadline, its error understood. The SDK never retries here (its budget of retries runs
 * dry when all requests fail at once): `retrying` does. The cure for expired credentials alone is
 * inside: no wrapper knows of it.
 */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { setImmediate as turn } from 'node:timers/promises'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { Failure } from '../failure.ts'
import { Deadline, type DeadlineRule } from './deadline.ts'
import { limitAnswers } from './s3-answer-limit.ts'
import { meaningOf, s3Failure } from './s3-errors.ts'
import type { LineLimits } from './s3-line.ts'
import { S3Wire } from './s3-wire.ts'

/** How an S3-compatible store is spoken to; all of it may be left out for Amazon's own. */
export interface S3Options {
  /** `https://…`; absent: Amazon's own. */
  readonly endpoint?: string
  readonly region?: string
  /** `https://endpoint/bucket/key` (default), not `https://bucket.endpoint/key`. */
  readonly pathStyle?: boolean
  /**
   * `when-supported` (default): each put carries a CRC-32. `when-required`: no x-amz-checksum
   * header is sent, for stores that do not know them; Content-MD5 guards each put instead.
   */
  readonly checksums?: 'when-supported' | 'when-required'
  readonly timeouts?: Partial<S3Timeouts>
}

/** When an attempt is given up, to be tried again. */
export interface S3Timeouts extends LineLimits, DeadlineRule {}

const TIMEOUTS: S3Timeouts = {
  connectMs: 5_000,
  idleMs: 20_000,
  attemptMs: 30_000,
  // A hundred uploads at once share the link.
  bytesPerSecondMin: 16 * 1024,
}

export type Credentials = NonNullable<S3ClientConfig['credentials']>

/** What an attempt came to, where it is not a Failure. */
export type Answer<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unmet' }

export interface Attempt {
  /** An infinitive without `to`: `put`, `list`. */
  readonly doing: string
  /** The object's or the bucket's URL. */
  readonly what: string
  /** What goes over the wire, as far as is known. */
  readonly bytes?: number
  readonly signal?: AbortSignal | undefined
}

export class S3Connection {
  readonly client: S3Client
  /** Puts, past the client's middleware; over connections of its own. */
  readonly wire: S3Wire
  readonly #timeouts: S3Timeouts
  readonly #agents: readonly HttpAgent[]
  #ready: Promise<void> | undefined
  #reloadedAt = 0
  #hasServed = false

  constructor(options: S3Options, credentials?: Credentials) {
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts }
    const httpAgent = new HttpAgent({ keepAlive: true })
    const httpsAgent = new HttpsAgent({ keepAlive: true })
    this.#agents = [httpAgent, httpsAgent]
    // The lock file holds a version that runs on this Node; its warning would stand among the logs.
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
    this.client = new S3Client({
      ...credentialSettings(credentials),
      ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
      ...(options.region !== undefined && { region: options.region }),
      forcePathStyle: options.pathStyle ?? true,
      maxAttempts: 1,
      // The store gives each put its checksum itself; the SDK must not add its own.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      expectContinueHeader: false,
      // No limit of sockets: how many requests may be open is the permits' business.
      requestHandler: {
        httpAgent,
        httpsAgent,
        connectionTimeout: this.#timeouts.connectMs,
        socketTimeout: this.#timeouts.idleMs,
      },
    })
    signWithoutBody(this.client)
    limitAnswers(this.client)
    this.wire = new S3Wire(this.client, this.#timeouts)
  }

  /**
   * Runs `work`, a single request. Its own retry is that after expired credentials were reloaded.
   *
   * @throws Failure `unavailable` or `invalid`; the signal's reason where the caller gave up
   */
  async attempt<T>(attempt: Attempt, work: (deadline: Deadline) => Promise<T>): Promise<Answer<T>> {
    const startedAt = performance.now()
    const first = await this.#once(attempt, work)
    if (first.kind !== 'failed') return first
    if (first.reload) {
      await this.#reloadCredentials(attempt, startedAt)
      const second = await this.#once(attempt, work)
      if (second.kind !== 'failed') return second
      throw second.failure
    }
    throw first.failure
  }

  close(): void {
    this.wire.close()
    this.client.destroy()
    for (const agent of this.#agents) agent.destroy()
  }

  async #once<T>(attempt: Attempt, work: (deadline: Deadline) => Promise<T>) {
    try {
      const value = await this.#inTime(attempt, async (deadline) => {
        this.#ready ??= this.#checkRegion()
        await this.#ready
        return await work(deadline)
      })
      this.#hasServed = true
      return { kind: 'done', value } as const
    } catch (error) {
      // The SDK speaks up before its socket is closed: until then the request counts as open.
      await turn()
      attempt.signal?.throwIfAborted()
      return understood(error, attempt, this.#hasServed)
    }
  }

  /** Rejects past the deadline even where the work knows of none, as a provider of credentials. */
  async #inTime<T>(attempt: Attempt, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    attempt.signal?.throwIfAborted()
    const deadline = new Deadline(this.#timeouts, attempt.signal)
    deadline.allowFor(attempt.bytes ?? 0)
    return deadline.settled(work(deadline))
  }

  /** Of many requests that find the credentials expired, only the first asks for new ones. */
  async #reloadCredentials({ doing, what, signal }: Attempt, startedAt: number): Promise<void> {
    if (this.#reloadedAt > startedAt) return
    try {
      await this.#inTime({ doing, what, signal }, () =>
        this.client.config.credentials({ forceRefresh: true }),
      )
    } catch (cause) {
      signal?.throwIfAborted()
      const message = 'expired credentials cannot be loaded anew.'
      const remedy = 'Renew them; they are read again at every attempt.'
      throw new Failure('unavailable', message, { cause, remedy })
    }
    this.#reloadedAt = performance.now()
  }

  async #checkRegion(): Promise<void> {
    try {
      await this.client.config.region()
    } catch (cause) {
      throw new Failure('invalid', 'no region is set for the store', {
        remedy: 'Set s3.region or AWS_REGION, or give --region.',
        cause,
      })
    }
  }
}

function understood(error: unknown, attempt: Attempt, hasServed: boolean) {
  const meaning = meaningOf(error, hasServed)
  if (error instanceof Failure || !(error instanceof Error) || !meaning) throw error
  if (meaning.kind === 'absent' || meaning.kind === 'unmet') return { kind: meaning.kind }
  const failure = s3Failure(error, meaning, attempt)
  return { kind: 'failed', failure, reload: meaning.reload === true } as const
}

/**
 * Absent credentials come from the AWS chain. It remembers the files it has read for as long as the
 * process lives, so that a renewed credentials file would never be seen: `ignoreCache`, which the
 * client hands on to the chain, makes it read them again.
 */
function credentialSettings(credentials: Credentials | undefined): S3ClientConfig {
  const fromChain = { ignoreCache: true }
  return credentials ? { credentials } : fromChain
}

/**
 * A body that goes with a checksum of its own is not hashed again for the signature: SHA-256 costs
 * seven times what CRC-32 does. Without a checksum the body stays signed.
 */
function signWithoutBody(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { request } = args
      if (hasHeaders(request)) {
        const { headers } = request
        // With a type it is the checksum of an object made of parts, not of this body.
        const isOfBody = headers['x-amz-checksum-type'] === undefined
        if (headers['content-md5'] ?? (isOfBody && headers['x-amz-checksum-crc32'])) {
          headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD'
        }
      }
      return next(args)
    },
    { step: 'build', priority: 'low', name: 'signWithoutBody' },
  )
}

function hasHeaders(request: unknown): request is { headers: Record<string, string> } {
  return typeof request === 'object' && request !== null && 'headers' in request
}
