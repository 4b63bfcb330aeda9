import assert from 'node:assert/strict'
import { test } from 'node:test'
import { near } from '../../src/near.ts'

test('near: a slip of the keys is understood, another word is none of the names', () => {
  const known = ['disk-full', 'reader-killed', 'store-away']
  assert.equal(near('reader-kiled', known), 'reader-killed')
  assert.equal(near('store_away', known), 'store-away')
  assert.equal(near('nosuch', known), undefined)
  assert.equal(near('nosuch', []), undefined)
})
