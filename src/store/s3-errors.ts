/**
 * What an S3 store's errors mean: one table. An error is looked up by the network's code, then by
 * the store's, then by the HTTP status. Measured with the SDK 3.1175 and MinIO of 2026-02; codes
 * from https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
 */
import { Failure } from '../failure.ts'
import { Throttled } from './throttled.ts'

/** A store that asks for more is asked again all the same: it may be well by then, or mistaken. */
const retryAfterMsMax = 5 * 60_000

export interface Meaning {
  /** `absent`: no such object. `unmet`: a conditional put's condition does not hold. */
  readonly kind: 'unavailable' | 'invalid' | 'absent' | 'unmet'
  readonly says: string
  readonly remedy?: string
  /** The credentials are loaded anew once, and the request is sent again with them. */
  readonly reload?: true
  /** The store, or the way to it, has too much to do: fewer requests at once may help. */
  readonly throttles?: true
}

const passing = (says: string, remedy?: string): Meaning => ({
  kind: 'unavailable',
  says,
  ...(remedy !== undefined && { remedy }),
})
const final = (says: string, remedy: string): Meaning => ({ kind: 'invalid', says, remedy })
const reloading = (meaning: Meaning): Meaning => ({ ...meaning, reload: true })
const throttling = (meaning: Meaning): Meaning => ({ ...meaning, throttles: true })

const KEYS = 'Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the AWS profile.'
const FILES = 'Check the files that AWS_WEB_IDENTITY_TOKEN_FILE and the AWS profile name.'
const RENEW = 'Renew the session’s credentials; they are read again at every attempt.'
const SIGN_ON = 'Sign on again: the session is read again at every attempt.'
const RIGHTS = 'Allow these credentials to get, put, list and delete in the bucket.'
const REGION = 'Set s3.region to the bucket’s region, and s3.endpoint to where that is served.'
const CHECKSUMS = 'Set s3.checksums: when-required, so that no x-amz-checksum header is sent.'
const CERTIFICATE = 'Check s3.endpoint; for a certificate of your own set NODE_EXTRA_CA_CERTS.'
const ENDPOINT = 'Write it as http(s)://host[:port], in s3.endpoint or AWS_ENDPOINT_URL.'
const ADDRESS = 'Check s3.endpoint and the network.'
const UPLOAD = 'Start the upload anew.'

const gone: Meaning = { kind: 'absent', says: 'no such object' }
const unmet: Meaning = { kind: 'unmet', says: 'the condition does not hold' }
const busy = throttling(passing('it is overloaded'))
const slow = throttling(passing('it did not answer in time'))
const slowBody = throttling(passing('it waited too long for the body'))
const damaged = passing('the bytes were damaged on their way')
const expired = reloading(passing('the credentials have expired', RENEW))

const byCode: Readonly<Record<string, Meaning>> = {
  NoSuchKey: gone,
  NotFound: gone,
  PreconditionFailed: unmet,

  SlowDown: busy,
  ServiceUnavailable: busy,
  Throttling: busy,
  ThrottlingException: busy,
  TooManyRequests: busy,
  RequestLimitExceeded: busy,
  BandwidthLimitExceeded: busy,
  InternalError: passing('it failed inside'),
  RequestTimeout: slowBody,
  IncompleteBody: passing('it got only part of the body'),
  // The SDK has put its clock right by then: the next attempt is signed with the store's time.
  RequestTimeTooSkewed: passing('this machine’s clock is wrong', 'Set this machine’s clock.'),
  ConditionalRequestConflict: passing('another conditional put is under way'),
  OperationAborted: passing('another operation is under way'),
  BadDigest: damaged,
  XAmzContentSHA256Mismatch: damaged,
  XAmzContentChecksumMismatch: damaged,
  XMinioStorageFull: passing('it is full', 'Free space in the store; then it goes on.'),

  ExpiredToken: expired,
  ExpiredTokenException: expired,
  RequestExpired: expired,
  TokenRefreshRequired: expired,
  InvalidToken: reloading(final('the session token is not valid', KEYS)),
  InvalidTokenId: final('the session token is not valid', KEYS),
  InvalidAccessKeyId: final('the access key is unknown', KEYS),
  SignatureDoesNotMatch: final('the secret key does not match the access key', KEYS),
  CredentialsProviderError: final('there are no credentials', KEYS),
  TokenProviderError: final('the single sign-on session has ended', SIGN_ON),
  AccessDenied: final('these credentials may not do this', RIGHTS),
  AllAccessDisabled: final('the bucket is closed', RIGHTS),
  AccountProblem: final('there is a problem with the account', 'Ask the store’s operator.'),

  NoSuchBucket: final('the bucket does not exist', 'Create the bucket, or correct store.'),
  InvalidBucketName: final('the bucket’s name is not valid', 'Correct store: s3://bucket/prefix.'),
  PermanentRedirect: final('the bucket is elsewhere', REGION),
  AuthorizationHeaderMalformed: final('the request is signed for another region', REGION),
  IllegalLocationConstraintException: final('the bucket is in another region', REGION),
  NotImplemented: final('it does not know a header that was sent', CHECKSUMS),
  InvalidArgument: final('it does not take an argument that was sent', CHECKSUMS),
  EntityTooLarge: final('the object is too large for one put', 'Store it in parts.'),
  EntityTooSmall: final('a part is too small', 'All parts but the last take at least 5 MiB.'),
  InvalidPart: final('the upload lacks a part', UPLOAD),
  InvalidPartOrder: final('the parts are out of order', UPLOAD),
  NoSuchUpload: final('the upload was completed or aborted', UPLOAD),

  TimeoutError: slow,
  AbortError: slow,
}

/** What is final at the start, and passes once the store has served: the keys were there then. */
const byCodeOnceServed: Readonly<Record<string, Meaning>> = {
  CredentialsProviderError: passing('the credentials cannot be loaded at present', RENEW),
  TokenProviderError: passing('the single sign-on session has ended', SIGN_ON),
}

const byNetwork: Readonly<Record<string, Meaning>> = {
  ECONNRESET: passing('the connection was cut'),
  EPIPE: passing('the connection was cut'),
  ECONNREFUSED: passing('nobody listens there', ADDRESS),
  ETIMEDOUT: throttling(passing('the connection timed out', ADDRESS)),
  EHOSTUNREACH: passing('there is no way there', ADDRESS),
  ENETUNREACH: passing('there is no way there', ADDRESS),
  ENETDOWN: passing('the network is down'),
  EADDRNOTAVAIL: passing('this machine is out of ports'),
  EMFILE: passing('this process has too many files open'),
  ENOTFOUND: passing('its name is not known', ADDRESS),
  EAI_AGAIN: passing('names cannot be looked up', ADDRESS),
  /** Of `AnswerReader`. */
  ANSWER_NOT_HTTP: passing('its answer is not HTTP', ADDRESS),
  /** Of `limitAnswers`. */
  ANSWER_WITHOUT_END: passing('its answer does not end', ADDRESS),
  ERR_INVALID_URL: final('its endpoint is no URL', ENDPOINT),
  ERR_INVALID_CHAR: final('a key or a token of the credentials has a character too many', KEYS),
  EPROTO: final('it does not speak TLS', 'Check s3.endpoint: http or https?'),
  CERT_HAS_EXPIRED: final('its certificate has expired', CERTIFICATE),
  DEPTH_ZERO_SELF_SIGNED_CERT: final('its certificate is its own', CERTIFICATE),
  SELF_SIGNED_CERT_IN_CHAIN: final('its certificate is not trusted', CERTIFICATE),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: final('its certificate is not trusted', CERTIFICATE),
  ERR_TLS_CERT_ALTNAME_INVALID: final('its certificate is another’s', CERTIFICATE),
}

/** What the system is asked for a connection; all else is asked of files: see `ofSystem`. */
const networkCalls = /^(connect|bind|read|write|writev|shutdown|getaddrinfo|query\w+)$/
const fileAway = passing('a file of the credentials cannot be read at present', FILES)

/** Codes that are too many to list, by how they begin or end. */
const families: readonly (readonly [RegExp, Meaning])[] = [
  // Node's HTTP parser names its complaints so.
  [/^HPE_/, passing('its answer is not HTTP', ADDRESS)],
  [/^ERR_SSL_/, passing('TLS fails', 'Check s3.endpoint: http or https?')],
  [
    /^ERR_TLS_|^CERT_|^UNABLE_TO_|_CERT$|^INVALID_CA$|^HOSTNAME_MISMATCH$/,
    final('its certificate is not trusted', CERTIFICATE),
  ],
]

const byStatus: Readonly<Record<number, Meaning>> = {
  401: reloading(final('it wants other credentials', KEYS)),
  // The answer to HEAD has no body to say which: an expired token looks like a missing right.
  403: reloading(final('these credentials may not do this', RIGHTS)),
  404: gone,
  408: slowBody,
  409: passing('another operation is under way'),
  412: unmet,
  429: busy,
  501: final('it does not know a header that was sent', CHECKSUMS),
  503: busy,
  507: passing('it is full', 'Free space in the store; then it goes on.'),
}

/**
 * Undefined for what is not an error of the store, the network or the configuration: a bug.
 *
 * @param hasServed  a request of this process has been granted before
 */
export function meaningOf(error: unknown, hasServed = false): Meaning | undefined {
  if (!(error instanceof Error)) return undefined
  const network = networkCode(error)
  // The network's first: the SDK calls a connection that was cut a TimeoutError too.
  const later = hasServed ? byCodeOnceServed[error.name] : undefined
  const known = byNetwork[network] ?? later ?? byCode[error.name]
  if (known) return known
  const family = families.find(([names]) => names.test(network))
  if (family) return family[1]
  if (typeof field(error, 'syscall') === 'string') return ofSystem(error, hasServed)
  const status = statusOf(error)
  if (status === undefined) return undefined
  const listed = byStatus[status]
  if (listed) return listed
  if (status >= 500) return passing('it failed inside')
  if (status >= 400) return final('it refuses the request', 'See the cause; check the s3 section.')
  if (status >= 300) return final('the bucket is elsewhere', REGION)
  return passing('its answer makes no sense', ADDRESS)
}

/** Whatever the system's name for it: a way that fails now may be there later, a file is not. */
function ofSystem(error: Error, hasServed: boolean): Meaning {
  const isWay =
    networkCalls.test(String(field(error, 'syscall'))) && networkCode(error) !== 'EISDIR'
  if (isWay) return passing('the way there fails', ADDRESS)
  return hasServed ? fileAway : final('a file of the credentials cannot be read', FILES)
}

/** The Failure for a meaning that is one; `url` and `key` name what was asked for. */
export function s3Failure(
  error: Error,
  meaning: Meaning,
  at: { readonly doing: string; readonly what: string },
): Failure {
  const status = statusOf(error)
  const facts = [`store=${at.what}`, `code=${networkCode(error) || error.name}`]
  if (status !== undefined) facts.push(`status=${status}`)
  const message = `store cannot ${at.doing}: ${meaning.says}. ${facts.join(', ')}`
  // Only the words go on: the SDK's error carries the whole answer, tokens among it.
  const cause = new Error(error.message)
  const options = { cause, ...(meaning.remedy !== undefined && { remedy: meaning.remedy }) }
  const retryAfterMs = retryAfterOf(error)
  if (meaning.kind !== 'unavailable') return new Failure('invalid', message, options)
  // A store that says when to come back has too much to do, whatever else it says.
  if (!meaning.throttles && retryAfterMs === undefined) {
    return new Failure('unavailable', message, options)
  }
  return new Throttled(message, { ...options, retryAfterMs: retryAfterMs ?? 0 })
}

function networkCode(error: Error): string {
  const code = field(error, 'code')
  return typeof code === 'string' ? code : ''
}

function statusOf(error: Error): number | undefined {
  const status = field(field(error, '$metadata'), 'httpStatusCode')
  return typeof status === 'number' ? status : undefined
}

/**
 * Seconds, or a date: RFC 9110, section 10.2.3. A date is by the clock of who answers, which the
 * answer tells too: this machine's may be wrong.
 */
function retryAfterOf(error: Error): number | undefined {
  const headers = field(field(error, '$response'), 'headers')
  const value = field(headers, 'retry-after')
  if (typeof value !== 'string') return undefined
  const seconds = Number(value)
  const ms = Number.isNaN(seconds) ? Date.parse(value) - answeredAt(headers) : seconds * 1000
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), retryAfterMsMax)
}

function answeredAt(headers: unknown): number {
  const date = field(headers, 'date')
  const at = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(at) ? Date.now() : at
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
