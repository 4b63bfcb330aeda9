import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Blow, figuresOf, type Noted } from '../../../supervisors/drills/measure.ts'
import type { Moment } from '../../../supervisors/drills/rig/moments.ts'

const moment = (at: number, name: string, pid = 1, thread = 1): Moment => ({
  ...{ at, name, pid, thread },
})

const noted = (what: Partial<Noted>): Noted => ({
  ...{ moments: [], blows: [], log: [], starts: [0], bodies: null },
  ...what,
})

const calm = { batches: 2, samples: 3 }
const recovered = (what: Partial<Noted>) => figuresOf(noted(what), calm).recoverMs

test('drills: a thread’s place is taken when another does its work, not when others go on', () => {
  const moments = [
    moment(10, 'uploader.put', 1, 5),
    moment(20, 'ended:thread', 1, 5),
    moment(25, 'extractor.computed', 1, 7),
    moment(30, 'uploader.put', 1, 4),
    moment(70, 'uploader.put', 1, 9),
  ]
  // Thread 4 was seen before as well.
  const before = moment(5, 'uploader.put', 1, 4)
  assert.deepEqual(recovered({ moments: [before, ...moments] }), [50])
})

test('drills: a process that died is back when another gets on', () => {
  const died = [moment(10, 'ledger.stored'), moment(20, 'ended:process')]
  assert.deepEqual(recovered({ moments: [...died, moment(90, 'ledger.stored', 2)] }), [70])
  assert.deepEqual(recovered({ moments: [...died, moment(30, 'ledger.stored')] }), [null])
  const all = [moment(10, 'ledger.stored'), moment(20, 'ended:all')]
  const moments = [...all, moment(500, 'manifest.put', 2)]
  assert.deepEqual(recovered({ moments, starts: [0, 400] }), [100])
})

test('drills: a blow from outside is over at the first work of the kind it names', () => {
  const blows: Blow[] = [{ at: 100, until: 'anyone', by: ['uploader.put'] }]
  const moments = [moment(110, 'extractor.computed'), moment(150, 'uploader.put')]
  assert.deepEqual(recovered({ moments, blows }), [50])
})

test('drills: what was done again, started again and sent again is counted', () => {
  const names = ['extractor.computed', 'extractor.computed', 'extractor.computed']
  const moments = [...names, 'spool.renamed'].map((name, index) => moment(index, name))
  const log = ['{"msg":"restarting"}', '{"msg":"the process died: starting it again"}', '']
  const bodies = { puts: 5, bytes: 50, again: 2, bytesAgain: 20 }
  const found = figuresOf(noted({ moments, log, bodies, starts: [1, 2, 3] }), calm)
  assert.deepEqual(found.redone, { batches: 1, samples: 0 })
  // Four files by a thread that computes, and none by one that keeps copies.
  const copies = [4, 5, 6, 7].map((at) => moment(at, 'spool.renamed', 1, 2))
  const files = [...copies, moment(8, 'spool.renamed'), moment(9, 'spool.renamed')]
  const more = figuresOf(
    noted({ moments: [...moments, ...files, moment(10, 'spool.renamed')] }),
    calm,
  )
  assert.deepEqual(more.redone, { batches: 1, samples: 1 })
  assert.deepEqual(found.restarts, { actors: 1, processes: 1, commands: 2 })
  assert.deepEqual(found.sentTwice, { objects: 2, bytes: 20 })
})
