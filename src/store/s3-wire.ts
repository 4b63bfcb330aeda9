/**
 * Puts without the SDK's middleware, which costs two milliseconds of processor time each. All that
 * both ways must agree on is the SDK's: where the bucket is, the credentials and when they are
 * read anew, the correction of this machine's clock. What a put means stays in `s3-put.ts`.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import type { Deadline } from './deadline.ts'
import type { Incoming } from './http-answer.ts'
import { addressOf, type S3Address } from './s3-address.ts'
import { errorIn } from './s3-answer.ts'
import { Exchange } from './s3-exchange.ts'
import type { LineLimits } from './s3-line.ts'
import { encodeKey, Signer } from './s3-sign.ts'

/** An answer that took longer than this says nothing of the time now. */
const SKEW_SAMPLE_MS_MAX = 15 * 60_000

/** The signature leaves the body out: one header or the other guards its bytes, always. */
export type Guarded =
  | { readonly 'x-amz-checksum-crc32': string }
  | { readonly 'content-md5': string }

/** One object; its key is whole, the store's prefix included. */
export interface WirePut {
  readonly bucket: string
  readonly key: string
  readonly headers: Guarded & { readonly 'if-none-match'?: '*'; readonly 'if-match'?: string }
  readonly body: Uint8Array
}

interface Way {
  readonly address: S3Address
  readonly signer: Signer
  readonly exchange: Exchange
}

export class S3Wire {
  readonly #client: S3Client
  readonly #limits: LineLimits
  /** By bucket; null: only the SDK can sign for it. */
  readonly #ways = new Map<string, Way | null>()

  constructor(client: S3Client, limits: LineLimits) {
    this.#client = client
    this.#limits = limits
  }

  /**
   * @returns  the answer's headers; undefined, and nothing sent, for a bucket that only the SDK can
   *           sign for
   * @throws   an error that `meaningOf` knows
   */
  async put(put: WirePut, deadline: Deadline): Promise<Incoming['headers'] | undefined> {
    const known = this.#ways.get(put.bucket)
    const way = known === undefined ? await this.#findWay(put.bucket) : known
    if (!way) return undefined
    const { address, signer, exchange } = way
    const keys = await this.#client.config.credentials()
    const sentAt = Date.now()
    const path = address.path + encodeKey(put.key)
    const headers = {
      ...put.headers,
      host: address.host,
      'content-length': String(put.body.byteLength),
      'content-type': 'application/octet-stream',
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
    }
    const at = new Date(sentAt + this.#client.config.systemClockOffset)
    const signed = signer.sign({ method: 'PUT', path, headers }, keys, at)
    const outgoing = { method: 'PUT', path, headers: signed, body: put.body }
    const answer = await exchange.put(outgoing, deadline)
    this.#setClock(answer, sentAt)
    const error = errorIn(answer)
    if (error) throw error
    return answer.headers
  }

  close(): void {
    for (const way of this.#ways.values()) way?.exchange.close()
  }

  async #findWay(bucket: string): Promise<Way | null> {
    const address = await addressOf(this.#client, bucket)
    // Another request may have found it meanwhile: its connections are the ones to use.
    const known = this.#ways.get(bucket)
    if (known !== undefined) return known
    const way = address && {
      address,
      signer: new Signer(address.region),
      exchange: new Exchange(address, this.#limits),
    }
    this.#ways.set(bucket, way ?? null)
    return way ?? null
  }

  /** As the SDK does at each of its answers: the next request bears the store's time. */
  #setClock({ headers }: Incoming, sentAt: number): void {
    const now = Date.now()
    const theirs = Date.parse(headers.date ?? '')
    // An answer out of a cache bears the time at which it was made.
    if (Number.isNaN(theirs) || headers.age !== undefined) return
    if (now - sentAt <= SKEW_SAMPLE_MS_MAX) this.#client.config.systemClockOffset = theirs - now
  }
}
