import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain, Failure } from '../../src/failure.ts'

test('failure: causes follow, innermost last, each on the same line', () => {
  const cause = new Error('lists\n  [\n    "this"\n  ]', { cause: 'thrown' })
  const failure = new Failure('invalid', 'two faults\n  one', { cause })
  assert.equal(explain(failure), 'two faults\n  one: lists [ "this" ]: thrown')
})

test('failure: what a store says moves no terminal’s cursor', () => {
  const cause = new Error('\x1b[2Jgone\r\n\x07')
  assert.equal(
    explain(new Failure('invalid', 'key=a\x1bb\0', { cause })),
    'key=a\ufffdb\ufffd: \ufffd[2Jgone\ufffd \ufffd',
  )
})
