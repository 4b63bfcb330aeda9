import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashWord, hashWords } from '../../src/hash-words.ts'

test('hash words: bytes at any offset and hexadecimal digits are the same four words', () => {
  const long = Uint8Array.from({ length: 40 }, (_, i) => 255 - 7 * i)
  for (const at of [0, 3, 8]) {
    const hash = long.subarray(at, at + 16)
    const words = hashWords(hash)
    assert.deepEqual(new Uint8Array(words.buffer), Uint8Array.from(hash))
    assert.deepEqual(hashWords(Buffer.from(hash).toString('hex')), words)
    const each = [0, 4, 8, 12].map((word) => hashWord(long, at + word))
    assert.deepEqual(Uint32Array.from(each), words)
  }
})
