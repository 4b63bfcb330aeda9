import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { resultText } from '../../../supervisors/display/report.ts'
import { exitCodes } from '../../../supervisors/run/machine.ts'
import type { NoticePlace } from '../../../supervisors/run/preemption-notice.ts'
import { ledgerStatus, readerStatus, runStatus, trainingStatus } from '../../support/statuses.ts'

const outcome = { committed: 990, quarantined: 1, failed: 0 }
const ended = runStatus({ state: 'done', source: readerStatus({ outcome }) })

test('report: every end of a row is counted, the skipped ones by reason', () => {
  const text = resultText(
    { code: exitCodes.incomplete, failure: null, status: ended },
    { json: false },
  )
  assert.deepEqual(text.split('\n'), [
    'Finished, but not whole: s3://bucket/run',
    'Of 1,000 rows: 990 samples committed, 1 quarantined, 0 failed, 5 rows repeat another, ' +
      'skipped: 3 empty, 1 too long.',
    'Since this start: 250 samples of 2,500 tokens extracted.',
  ])
})

test('report: each exit code says in words what became of the run', () => {
  const headline = (code: number) =>
    resultText({ code, failure: null, status: ended }, { json: false }).split('\n')[0]
  assert.equal(headline(exitCodes.done), 'Done: every sample is in s3://bucket/run')
  assert.match(headline(exitCodes.gaveUp) ?? '', /^Gave up; what was stored is committed/)
  for (const code of [exitCodes.stopped, 129, 130, 143]) {
    assert.match(headline(code) ?? '', /^Stopped; .* goes on/)
  }
})

test('report: what a spot notice ended says where that was; a file may be left behind', () => {
  const said = (notice: NoticePlace, json = false) =>
    resultText({ code: exitCodes.stopped, failure: null, status: ended, notice }, { json })
  const [stopped, remedy] = said({ file: '/run/spot-notice' }).split('\n')
  assert.equal(
    stopped,
    'Stopped by the spot notice in /run/spot-notice; the same command goes on elsewhere.',
  )
  assert.match(remedy ?? '', /stops at once: remove it if it is old\.$/)
  const byUrl = said({ url: 'http://169.254.169.254/action' })
  assert.match(byUrl, /^Stopped by the spot notice at http:\S+; .* elsewhere\.\nOf 1,000 rows/)
  assert.equal(JSON.parse(said({ file: '/run/spot-notice' }, true)).notice, '/run/spot-notice')
})

test('report: a training that was stopped says how far it came, and what goes on', () => {
  const status = runStatus({ source: null, training: trainingStatus() })
  const again = 'the same command, without --new,'
  const text = resultText({ code: 130, failure: null, status }, { json: false, again })
  assert.deepEqual(text.split('\n').slice(0, 2), [
    'Stopped; the same command, without --new, goes on.',
    'Trained: step 50 of 200, 1,200 samples of 30,000 tokens seen by epoch 2 of 6.',
  ])
})

test('report: a training that had more epochs than are wanted now says so', () => {
  const { trainer, ...beside } = trainingStatus()
  const over = { ...trainer, step: 200, outcome: { steps: 200 } }
  const seenBy = (epoch: number) => {
    const training = { trainer: { ...over, epoch, epochs: 3 }, ...beside }
    const status = runStatus({ source: null, training })
    return resultText({ code: 0, failure: null, status }, { json: false })
  }
  assert.match(seenBy(2), /tokens seen in 3 epochs\.$/m)
  assert.match(seenBy(6), /tokens seen by epoch 7, past train\.epochs=3\.$/m)
})

test('report: why it gave up, what to do, and each sample that failed, by name', () => {
  const failed = [{ hash: 'ab'.repeat(16), reason: 'access denied' }]
  const failure = new Failure('unavailable', 'the store did not answer. minutes=30', {
    remedy: 'See that it runs.',
  })
  const status = runStatus({ ledger: ledgerStatus({ failed }) })
  const text = resultText({ code: exitCodes.gaveUp, failure, status }, { json: false })
  assert.match(text, /^Why: the store did not answer. minutes=30. See that it runs.$/m)
  assert.match(text, new RegExp(`^failed ${'ab'.repeat(16)}: access denied$`, 'm'))
})

test('report: --json is one document with all of it, before any actor has answered too', () => {
  const json = JSON.parse(resultText({ code: 0, failure: null, status: ended }, { json: true }))
  assert.equal(json.code, 0)
  assert.equal(json.reason, null)
  assert.deepEqual(json.rows, {
    rows: 1000,
    examined: 600,
    skipped: { empty: 3, 'too long': 1 },
    repeated: 5,
    ...outcome,
  })
  assert.deepEqual(json.extracted, { samples: 250, bytes: 2_500_000, tokens: 2500 })
  const early = runStatus({ source: null, ledger: null })
  const none = JSON.parse(resultText({ code: 5, failure: null, status: early }, { json: true }))
  assert.deepEqual([none.rows, none.stored, none.failed], [null, null, []])
})
