import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CommandAudit } from '../../../supervisors/run/command-audit.ts'
import { type Person, parsePerson, thisPerson } from '../../../supervisors/run/person.ts'
import { scratch } from '../../support/target-run.ts'

const me: Person = JSON.parse(JSON.stringify(thisPerson()))
const source = { from: 'socket', says: me } as const

test('audit: time, source and outcome of each command; bounded, its owner’s', async (t) => {
  const work = await scratch(t)
  const file = join(work, 'audit.jsonl')
  const audit = new CommandAudit(work, () => 0)
  const pause = { line: 'pause', outcome: 'done', answer: 'Paused.' }
  audit.note({ ...source, ...pause })
  const noted = { time: '1970-01-01T00:00:00.000Z', ...pause, ...source }
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), noted)
  assert.equal(statSync(file).mode & 0o777, 0o600)

  writeFileSync(file, 'x'.repeat(1 << 20))
  audit.note({ ...source, line: 'y'.repeat(5000), outcome: 'done' })
  assert.ok(statSync(file).size < 1000)
  assert.equal(statSync(join(work, 'audit.1.jsonl')).size, 1 << 20)
})

test('audit: a file that cannot be written loses the line, and harms nobody', async (t) => {
  const work = await scratch(t)
  mkdirSync(join(work, 'audit.jsonl'))
  new CommandAudit(work).note({ ...source, line: 'pause', outcome: 'done' })
})

test('audit: what another says of himself is taken as it is, cut, or not at all', () => {
  assert.deepEqual([me.pid, me.uid], [process.pid, process.getuid?.()])
  assert.deepEqual(parsePerson(JSON.stringify(me)), me)
  const long = parsePerson(JSON.stringify({ ...me, user: 'x'.repeat(5000), more: 1 }))
  assert.deepEqual(long, { ...me, user: 'x'.repeat(100) })
  for (const said of ['', '42', '{"pid":"x"}', '{"pid":', 'null']) {
    assert.equal(parsePerson(said), null)
  }
})
