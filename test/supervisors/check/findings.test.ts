import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { type Finding, findingsText, lookingInto } from '../../../supervisors/check/findings.ts'

test('findings: all that is wrong is gathered; a bug is none of them', async () => {
  const findings: Finding[] = []
  const look = lookingInto(findings)
  assert.equal(await look('work', async () => ['in order', 7]), 7)
  assert.equal(await look('disk', async () => ['slow', null, 'Use another.']), null)
  const failing = look('store', async () => {
    throw new Failure('invalid', 'no such bucket', { remedy: 'Create it.' })
  })
  assert.equal(await failing, undefined)
  const bug = look('target', async () => {
    throw new TypeError('a bug')
  })
  await assert.rejects(bug, TypeError)
  assert.deepEqual(findings, [
    { what: 'work', state: 'ok', found: 'in order' },
    { what: 'disk', state: 'note', found: 'slow', remedy: 'Use another.' },
    { what: 'store', state: 'wrong', found: 'no such bucket', remedy: 'Create it.' },
  ])
  assert.equal(
    findingsText(findings, undefined),
    [
      'ok     work   in order',
      'note   disk   slow',
      '              Use another.',
      'WRONG  store  no such bucket',
      '              Create it.',
      '1 of 3 is not in order, 1 worth a look.',
    ].join('\n'),
  )
})

test('findings: on a terminal lines break between words, under their column', () => {
  const found = 'one two three four five six seven'
  assert.equal(
    findingsText([{ what: 'a', state: 'ok', found }], 40),
    ['ok     a  one two three four five six', '          seven', 'Everything is in order.'].join(
      '\n',
    ),
  )
})
