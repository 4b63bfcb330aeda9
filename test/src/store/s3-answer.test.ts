import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { errorIn } from '../../../src/store/s3-answer.ts'
import { meaningOf, s3Failure } from '../../../src/store/s3-errors.ts'

const xml = (inner: string): string => `<?xml version="1.0"?>\n<Error>${inner}</Error>`
const tagged = { etag: '"e"' }
const at = { doing: 'put', what: 's3://bucket/k' }

test('s3 answer: what grants a put is no error', () => {
  assert.equal(errorIn({ status: 200, headers: tagged, body: '' }), undefined)
  assert.equal(errorIn({ status: 200, headers: {}, body: '' }), undefined)
  assert.equal(errorIn({ status: 200, headers: tagged, body: 'welcome' }), undefined)
})

test('s3 answer: code and message of the XML are those of the error', () => {
  const body = xml('<Code>AccessDenied</Code><Message>not &lt;you&gt; &amp; yours</Message>')
  const error = errorIn({ status: 403, headers: {}, body })
  assert.deepEqual([error?.name, error?.message], ['AccessDenied', 'not <you> & yours'])
  assert.equal(meaningOf(error)?.kind, 'invalid')
})

test('s3 answer: without XML the status decides; Retry-After is heard', () => {
  const error = errorIn({ status: 503, headers: { 'retry-after': '7' }, body: 'go away' })
  assert.ok(error)
  const meaning = meaningOf(error)
  assert.ok(meaning)
  const failure = s3Failure(error, meaning, at)
  assert.ok(isFailure(failure, 'unavailable'))
  assert.equal(Reflect.get(failure, 'retryAfterMs'), 7000)
  assert.match(failure.message, /code=Unknown, status=503/)
})

test('s3 answer: a 200 may hold an error, or be a stranger’s page: both may pass', () => {
  const inside = errorIn({ status: 200, headers: tagged, body: xml('<Code>SlowDown</Code>') })
  assert.equal(inside?.name, 'SlowDown')
  const page = errorIn({ status: 200, headers: {}, body: '<html>Please <b>log in' })
  assert.equal(meaningOf(page)?.kind, 'unavailable')
})
