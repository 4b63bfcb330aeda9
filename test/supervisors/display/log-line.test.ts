import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { Failure } from '../../../src/failure.ts'
import { describeError } from '../../../src/log.ts'
import { logLine } from '../../../supervisors/display/log-line.ts'

const line = { level: 'info', time: '2026-01-01T12:00:00.000Z', actor: 'ledger', msg: 'replayed' }
const shown = (of: object, columns = 80): string =>
  stripVTControlCharacters(logLine(JSON.stringify({ ...line, ...of }), columns)).replace(
    /^\[\d\d:\d\d:\d\d\]/,
    '[time]',
  )

test('log line: the facts of a line as words, numbers as people read them', () => {
  const facts = {
    committed: 400,
    loss: 1.4467487959428276,
    shares: [0.5650337, 1],
    of: { a: null },
  }
  assert.equal(
    shown(facts, 200),
    '[time] INFO: ledger: replayed committed=400 loss=1.447 shares=[0.565, 1] of={"a":null}\n',
  )
})

test('log line: it is broken between words, and none is wider than the terminal', () => {
  const lines = shown({ file: 'x'.repeat(40), size: '306 B' }, 50).split('\n')
  assert.deepEqual(lines, [
    '[time] INFO: ledger: replayed',
    `    file=${'x'.repeat(40)}`,
    '    size=306 B',
    '',
  ])
})

test('log line: an error has its message, its causes and its remedy', () => {
  const failure = new Failure('invalid', 'no such row. row=7\n  rows=3', {
    remedy: 'Count from 0.',
    cause: new Error('beneath'),
  })
  assert.equal(
    shown({ err: describeError(failure) }),
    [
      '[time] INFO: ledger: replayed',
      '    no such row. row=7',
      '      rows=3',
      '    because beneath',
      '    Count from 0.',
      '',
    ].join('\n'),
  )
  assert.match(shown({ err: describeError(new TypeError('a bug')) }), /TypeError: a bug\n {4} +at /)
})

test('log line: what the bars tell is left out; what is no line of ours is shown as it is', () => {
  assert.equal(shown({ msg: 'progress' }), '')
  assert.equal(logLine('half a li', 80), 'half a li\n')
})
