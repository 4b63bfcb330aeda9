/**
 * Signature version 4 in the Authorization header, as S3 wants it: the path is encoded once, and is
 * not tidied. What it costs is kept low, for it is paid a million times a run.
 *
 * @source  https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
import { createHash, createHmac } from 'node:crypto'

/** Who signs; the token goes with keys that a session lends. */
export interface SigningKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

/** A request without a query. */
export interface Unsigned {
  readonly method: string
  /** Encoded, from the slash on: what stands in the request's first line. */
  readonly path: string
  /** By names in lower case; `host` and `x-amz-content-sha256` among them. All are signed. */
  readonly headers: Readonly<Record<string, string>>
}

/** Each byte that is no unreserved character of RFC 3986 is encoded; slashes stay. */
export const encodeKey = (key: string): string => key.split('/').map(encodePart).join('/')

const encodePart = (part: string): string =>
  encodeURIComponent(part).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** Signs for one region; the key that it derives from the secret lasts for a day. */
export class Signer {
  readonly #region: string
  #derived: { readonly day: string; readonly secret: string; readonly key: Buffer } | undefined

  constructor(region: string) {
    this.#region = region
  }

  /** @returns the request's headers, with those that the signature adds */
  sign(request: Unsigned, keys: SigningKeys, at: Date): Record<string, string> {
    const stamp = at.toISOString().replace(/[-:]|\.\d{3}/g, '')
    const day = stamp.slice(0, 8)
    const headers: Record<string, string> = { ...request.headers, 'x-amz-date': stamp }
    if (keys.sessionToken !== undefined) headers['x-amz-security-token'] = keys.sessionToken
    const names = Object.keys(headers).sort()
    const lines = names.map((name) => `${name}:${canonical(headers[name] ?? '')}\n`).join('')
    const signed = names.join(';')
    const payload = headers['x-amz-content-sha256'] ?? ''
    const whole = `${request.method}\n${request.path}\n\n${lines}\n${signed}\n${payload}`
    const scope = `${day}/${this.#region}/s3/aws4_request`
    const digest = createHash('sha256').update(whole).digest('hex')
    const toSign = `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${digest}`
    const signature = createHmac('sha256', this.#key(day, keys.secretAccessKey))
      .update(toSign)
      .digest('hex')
    const credential = `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}`
    headers.authorization = `${credential}, SignedHeaders=${signed}, Signature=${signature}`
    return headers
  }

  #key(day: string, secret: string): Buffer {
    if (this.#derived?.day === day && this.#derived.secret === secret) return this.#derived.key
    const key = [day, this.#region, 's3', 'aws4_request'].reduce<Buffer>(
      (from, text) => createHmac('sha256', from).update(text).digest(),
      Buffer.from(`AWS4${secret}`),
    )
    this.#derived = { day, secret, key }
    return key
  }
}

const canonical = (value: string): string => value.trim().replace(/ {2,}/g, ' ')
