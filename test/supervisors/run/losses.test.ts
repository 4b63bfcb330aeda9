import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import { systemDisk } from '../../../src/disk.ts'
import { explain, Failure } from '../../../src/failure.ts'
import type { TreeEvent } from '../../../supervisors/engine/events.ts'
import { Losses } from '../../../supervisors/run/losses.ts'

const losses = () =>
  new Losses(
    { upload: { maxParallel: 100, attempts: 10, deadlineMinutes: 30, threads: 1 }, work: '/w' },
    { storm: () => null },
    { clock: new SimulatedClock(), disk: systemDisk, random: Math.random },
  )

const late = new Failure('unavailable', 'no answer in time')
const undrained = (child: string): TreeEvent => ({ kind: 'undrained', child, error: late })
const died = (failure?: Failure): TreeEvent => ({
  kind: 'died',
  child: 'ledger',
  death: { child: 'ledger', cause: 'crash', reason: '', ...(failure && { failure }) },
})

test('losses: a ledger that does not drain leaves something uncommitted, others do not', () => {
  assert.equal(losses().note(undrained('extractor/0')), null)
  const loss = losses().note(undrained('ledger'))
  assert.equal(loss?.type, 'undrained')
  assert.match(explain(loss?.failure), /stored is not committed: no answer in time/)
  assert.match(loss?.failure.remedy ?? '', /the spool keeps what waits/)
})

test('losses: a checkpointer that does not drain leaves the last steps unsaved', () => {
  const loss = losses().note(undrained('checkpointer'))
  assert.equal(loss?.type, 'undrained')
  assert.match(explain(loss?.failure), /last steps are in no checkpoint: no answer in time/)
})

test('losses: one that died in its drain tells what it died of, and no earlier death', () => {
  const superseded = new Failure('superseded', 'another writes', { remedy: 'Let one run.' })
  const inDrain = losses()
  assert.equal(inDrain.note(died(superseded)), null)
  const { kind, remedy, cause } = inDrain.note(undrained('ledger'))?.failure ?? {}
  assert.deepEqual([kind, remedy, cause], ['superseded', 'Let one run.', superseded])

  const before = losses()
  before.note(died(superseded))
  before.note({ kind: 'started', child: 'ledger', generation: 2 })
  assert.equal(before.note(undrained('ledger'))?.failure.cause, late)
})

test('losses: a stop that hurries for a lost store leaves what a ledger held that was up', () => {
  const away = new Failure('unavailable', 'the store is away')
  const death = { child: 'ledger', cause: 'start', reason: '', failure: away } as const
  const failsToStart: TreeEvent = { kind: 'died', child: 'ledger', death }
  const first = losses()
  first.note(failsToStart)
  assert.deepEqual([first.isStoreLost, first.left()], [true, null])

  const later = losses()
  later.note({ kind: 'started', child: 'ledger', generation: 1 })
  assert.deepEqual([later.isStoreLost, later.left()], [false, null])
  later.note(failsToStart)
  assert.equal(later.isStoreLost, true)
  assert.match(explain(later.left()?.failure), /not committed: the store is away/)
})

test('losses: the last steps are lost with a trainer that is away, not with a late one', () => {
  const gone: TreeEvent = {
    kind: 'died',
    child: 'trainer/0',
    death: { child: 'trainer/0', cause: 'crash', reason: '' },
  }
  const unsaved = { isUnsaved: true }
  const of = losses()
  assert.equal(of.note(undrained('trainer/0'), unsaved), null)
  of.note(gone, unsaved)
  assert.match(
    explain(of.note(undrained('trainer/0'), unsaved)?.failure),
    /last steps are in no checkpoint/,
  )
  assert.equal(of.note(undrained('trainer/0')), null)
  of.note({ kind: 'started', child: 'trainer/0', generation: 2 }, unsaved)
  assert.equal(of.note(undrained('trainer/0'), unsaved), null)
})
