import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure, isFailure } from '../../../src/failure.ts'
import { meaningOf, s3Failure } from '../../../src/store/s3-errors.ts'
import { Throttled } from '../../../src/store/throttled.ts'

interface Like {
  readonly name?: string
  readonly code?: string
  readonly syscall?: string
  readonly status?: number
  readonly retryAfter?: string
  readonly date?: string
}

/** An error as the SDK throws it. */
function sdkError({ name, code, syscall, status, retryAfter, date }: Like): Error {
  const error = new Error('as the store put it')
  if (syscall !== undefined) Object.assign(error, { syscall })
  if (name !== undefined) error.name = name
  if (status !== undefined) Object.assign(error, { $metadata: { httpStatusCode: status } })
  const $response = { headers: { 'retry-after': retryAfter, date } }
  if (retryAfter !== undefined) Object.assign(error, { $response })
  return code === undefined ? error : Object.assign(error, { code })
}

const rows: readonly [Like, string][] = [
  // A row of the fault table each: what the SDK throws, and what becomes of it.
  [{ name: 'TimeoutError', code: 'ECONNRESET' }, 'unavailable'],
  [{ name: 'Error', code: 'ECONNRESET' }, 'unavailable'],
  [{ code: 'EPIPE' }, 'unavailable'],
  [{ name: 'SlowDown', status: 503 }, 'unavailable'],
  [{ name: 'UnknownError', status: 503 }, 'unavailable'],
  [{ name: 'InternalError', status: 500 }, 'unavailable'],
  [{ name: 'InternalError', status: 200 }, 'unavailable'],
  [{ name: '502', status: 502 }, 'unavailable'],
  [{ name: '504', status: 504 }, 'unavailable'],
  [{ name: '429', status: 429 }, 'unavailable'],
  [{ name: '408', status: 408 }, 'unavailable'],
  [{ name: 'RequestTimeout', status: 400 }, 'unavailable'],
  [{ name: 'ConditionalRequestConflict', status: 409 }, 'unavailable'],
  [{ name: 'XMinioStorageFull', status: 507 }, 'unavailable'],
  [{ name: 'BadDigest', status: 400 }, 'unavailable'],
  [{ name: 'XAmzContentSHA256Mismatch', status: 400 }, 'unavailable'],
  [{ name: 'XAmzContentChecksumMismatch', status: 400 }, 'unavailable'],
  [{ name: 'RequestTimeTooSkewed', status: 403 }, 'unavailable'],
  [{ name: 'AbortError' }, 'unavailable'],
  [{ name: 'SyntaxError', status: 200 }, 'unavailable'],
  [{ code: 'HPE_INVALID_CONSTANT' }, 'unavailable'],
  [{ name: 'TypeError', code: 'ERR_INVALID_URL' }, 'invalid'],
  [{ code: 'ECONNREFUSED' }, 'unavailable'],
  [{ code: 'ENOTFOUND' }, 'unavailable'],
  [{ code: 'EAI_AGAIN' }, 'unavailable'],
  [{ name: 'ExpiredToken', status: 400 }, 'unavailable, reloaded'],
  [{ name: 'RequestExpired', status: 400 }, 'unavailable, reloaded'],
  [{ name: 'InvalidToken', status: 400 }, 'invalid, reloaded'],
  [{ name: 'UnknownError', status: 403 }, 'invalid, reloaded'],
  [{ name: 'InvalidTokenId', status: 403 }, 'invalid'],
  [{ name: 'SignatureDoesNotMatch', status: 403 }, 'invalid'],
  [{ name: 'InvalidAccessKeyId', status: 403 }, 'invalid'],
  [{ name: 'AccessDenied', status: 403 }, 'invalid'],
  [{ name: 'NoSuchBucket', status: 404 }, 'invalid'],
  [{ name: 'PermanentRedirect', status: 301 }, 'invalid'],
  [{ name: 'NotImplemented', status: 501 }, 'invalid'],
  [{ name: 'InvalidArgument', status: 400 }, 'invalid'],
  [{ name: 'NoSuchUpload', status: 404 }, 'invalid'],
  [{ name: 'CredentialsProviderError' }, 'invalid'],
  [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'invalid'],
  [{ code: 'CERT_NOT_YET_VALID' }, 'invalid'],
  [{ code: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' }, 'invalid'],
  [{ code: 'ERR_TLS_CERT_ALTNAME_FORMAT' }, 'invalid'],
  [{ code: 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC' }, 'unavailable'],
  // An access key that was copied with the end of its line.
  [{ name: 'TypeError', code: 'ERR_INVALID_CHAR' }, 'invalid'],
  // What no table lists, as a firewall's EPERM, and is of the system.
  [{ code: 'EHOSTDOWN', syscall: 'connect' }, 'unavailable'],
  [{ code: 'EPERM', syscall: 'connect' }, 'unavailable'],
  [{ code: 'EAI_FAIL', syscall: 'getaddrinfo' }, 'unavailable'],
  [{ code: 'EIO', syscall: 'read' }, 'unavailable'],
  // A token file that is not there, or is a folder, or may not be read: no network was asked.
  [{ code: 'ENOENT', syscall: 'open' }, 'invalid'],
  [{ code: 'EACCES', syscall: 'open' }, 'invalid'],
  [{ code: 'EISDIR', syscall: 'read' }, 'invalid'],
  [{ name: 'NoSuchKey', status: 404 }, 'absent'],
  [{ name: 'NotFound', status: 404 }, 'absent'],
  [{ name: 'PreconditionFailed', status: 412 }, 'unmet'],
  [{ name: 'UnknownError', status: 412 }, 'unmet'],
]

for (const [like, want] of rows) {
  test(`s3 errors: ${JSON.stringify(like)} is ${want}`, () => {
    const meaning = meaningOf(sdkError(like))
    assert.ok(meaning)
    assert.equal(meaning.kind + (meaning.reload ? ', reloaded' : ''), want)
    // Whatever a person must change says what to change.
    if (meaning.kind === 'invalid') assert.ok(meaning.remedy)
  })
}

test('s3 errors: credentials that were there once may be there again', () => {
  const absences: readonly Like[] = [
    { name: 'CredentialsProviderError' },
    { name: 'TokenProviderError' },
    { code: 'ENOENT', syscall: 'open' },
  ]
  for (const absence of absences) {
    const missing = sdkError(absence)
    assert.equal(meaningOf(missing)?.kind, 'invalid', JSON.stringify(absence))
    assert.equal(meaningOf(missing, true)?.kind, 'unavailable', JSON.stringify(absence))
  }
  assert.equal(meaningOf(sdkError({ name: 'AccessDenied', status: 403 }), true)?.kind, 'invalid')
})

test('s3 errors: what is none of the store’s is a bug, and stays one', () => {
  assert.equal(meaningOf(new TypeError('x is not a function')), undefined)
  assert.equal(meaningOf('thrown'), undefined)
  assert.equal(meaningOf(new Failure('corrupt', 'torn')), undefined)
})

test('s3 errors: Retry-After is seconds or a date, and only what may pass is retried', () => {
  const failureOf = (like: Like): Failure => {
    const error = sdkError(like)
    const meaning = meaningOf(error)
    assert.ok(meaning)
    return s3Failure(error, meaning, { doing: 'put', what: 's3://bucket/k' })
  }
  const seconds = failureOf({ name: 'SlowDown', status: 503, retryAfter: '7' })
  assert.ok(seconds instanceof Throttled && seconds.retryAfterMs === 7000)
  const date = new Date(Date.now() + 200_000).toUTCString()
  const later = failureOf({ name: 'SlowDown', status: 503, retryAfter: date })
  assert.ok(later instanceof Throttled && later.retryAfterMs > 100_000)
  const theirs = {
    date: 'Sat, 01 Jan 2000 00:00:00 GMT',
    retryAfter: 'Sat, 01 Jan 2000 00:01:00 GMT',
  }
  const told = failureOf({ name: 'SlowDown', status: 503, ...theirs })
  assert.ok(told instanceof Throttled && told.retryAfterMs === 60_000)
  for (const retryAfter of ['9'.repeat(12), '9'.repeat(400), 'Fri, 01 Jan 2100 00:00:00 GMT']) {
    const far = failureOf({ name: 'SlowDown', status: 503, retryAfter })
    assert.ok(far instanceof Throttled && far.retryAfterMs === 300_000)
  }
  const odd = failureOf({ name: 'SlowDown', status: 503, retryAfter: 'soon' })
  assert.ok(odd instanceof Throttled && odd.retryAfterMs === 0)
  assert.ok(isFailure(failureOf({ name: 'AccessDenied', status: 403, retryAfter: '7' }), 'invalid'))
})

test('s3 errors: a Failure says what, where and why, and keeps no token', () => {
  const error = Object.assign(sdkError({ name: 'InvalidTokenId', status: 403 }), {
    'Token-0': 'secret-session-token',
  })
  const meaning = meaningOf(error)
  assert.ok(meaning)
  const failure = s3Failure(error, meaning, { doing: 'put', what: 's3://bucket/k' })
  assert.equal(
    failure.message,
    'store cannot put: the session token is not valid. ' +
      'store=s3://bucket/k, code=InvalidTokenId, status=403',
  )
  const { cause } = failure
  assert.ok(cause instanceof Error)
  assert.equal(cause.message, 'as the store put it')
  assert.ok(!JSON.stringify(Object.getOwnPropertyDescriptors(cause)).includes('secret-session'))
})
