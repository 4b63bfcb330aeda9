import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitted } from '../../src/fitted.ts'

test('fitted: lines break between words, and where the text does; the first has no indent', () => {
  const text = 'the store belongs to another run. store=file:///x\n  dtype: store="bf16"'
  assert.equal(
    fitted(text, 36, '    '),
    'the store belongs to another\n    run. store=file:///x\n      dtype: store="bf16"',
  )
  assert.equal(fitted(text, Number.POSITIVE_INFINITY, ''), text)
})

test('fitted: a word that is too long has a line for itself', () => {
  const key = 'x'.repeat(50)
  assert.equal(fitted(`a ${key} b`, 10, ' '), `a\n ${key}\n b`)
})

test('fitted: a number keeps its per cent', () => {
  assert.equal(fitted(`${'x'.repeat(26)} 58 % of it`, 30, ''), `${'x'.repeat(26)}\n58 % of it`)
})
