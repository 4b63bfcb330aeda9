import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { bodyLength, keyBelow, listing } from '../../../src/store/s3-granted.ts'

const what = 's3://bucket/k'
const refused = (work: () => unknown, says: RegExp) =>
  assert.throws(work, (error) => isFailure(error, 'unavailable') && says.test(error.message))

test('granted: an object has a tag, a length, and no more bytes than were asked for', () => {
  const object = { ETag: '"x"', ContentLength: 5 }
  assert.equal(bodyLength(object, what), 5)
  assert.equal(bodyLength(object, what, 5), 5)
  assert.equal(bodyLength({ ...object, ContentEncoding: 'aws-chunked' }, what), 5)
  refused(() => bodyLength({ ContentLength: 5 }, what), /no ETag. store=s3:\/\/bucket\/k/)
  refused(() => bodyLength({ ETag: '"x"' }, what), /no length/)
  refused(() => bodyLength(object, what, 4), /want=4 at most, found=5/)
  refused(() => bodyLength({ ...object, ContentLength: 3e10 }, what), /found=30000000000/)
  refused(() => bodyLength({ ...object, ContentEncoding: 'gzip' }, what), /Encoding=gzip/)
})

test('granted: the body of what is refused ends at once', () => {
  const Body = new Readable({ read() {} })
  refused(() => bodyLength({ Body }, what), /no ETag/)
  assert.ok(Body.destroyed)
})

test('granted: a listing says whether it goes on', () => {
  assert.deepEqual(listing({ IsTruncated: false }, what), { IsTruncated: false })
  refused(() => listing({}, what), /no listing/)
})

test('granted: keys that were not asked for are none of ours', () => {
  const ask = { root: 'run/', prefix: 'manifest/' }
  assert.equal(keyBelow('run/manifest/a', ask), 'manifest/a')
  for (const key of [undefined, '', 'manifest/a', 'other/manifest/a', 'run/dataset/a', 'ru']) {
    assert.equal(keyBelow(key, ask), undefined)
  }
})
