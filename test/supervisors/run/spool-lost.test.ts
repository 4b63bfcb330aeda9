import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Death } from '../../../protocol/child.ts'
import { Failure } from '../../../src/failure.ts'
import { spoolLost } from '../../../supervisors/run/spool-lost.ts'
import { scratch } from '../../support/target-run.ts'

const failure = new Failure('invalid', 'sample not written. code=ENOENT')
const died = (death: Partial<Death>) => {
  const whole = { child: 'extractor/0', cause: 'crash', reason: 'it died', ...death } as const
  return { kind: 'died', child: whole.child, death: whole } as const
}

test('spool lost: an actor that dies of a spool that has gone ends the run', async (t) => {
  const work = await scratch(t)
  const lost = spoolLost(died({ failure }), work)
  assert.equal(lost?.kind, 'unavailable')
  assert.match(lost?.message ?? '', /has gone/)
  assert.match(lost?.remedy ?? '', /mounted/)
})

test('spool lost: where the spool takes files, it is not to blame', async (t) => {
  const work = await scratch(t)
  mkdirSync(join(work, 'spool'))
  assert.equal(spoolLost(died({ failure }), work), undefined)
})

test('spool lost: a start that failed, an order, or a bug says nothing of the spool', async (t) => {
  const work = await scratch(t)
  const away = new Failure('unavailable', 'the store does not answer')
  const others: Partial<Death>[] = [
    { cause: 'start', failure },
    { cause: 'ordered' },
    {},
    { failure: away },
  ]
  for (const death of others) assert.equal(spoolLost(died(death), work), undefined)
})
