import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressFacts } from '../../../supervisors/run/progress-facts.ts'
import { importerStatus, readerStatus, runStatus, trainingStatus } from '../../support/statuses.ts'

test('progress facts: of an import, files where a run has rows', () => {
  const facts = JSON.stringify(progressFacts(runStatus({ source: importerStatus() })))
  assert.match(facts, /"files":400,"filesDone":300/)
  assert.doesNotMatch(facts, /rows/)
})

test('progress facts: the time left is that of what is not over', () => {
  const left = (of: Parameters<typeof runStatus>[0]) => progressFacts(runStatus(of)).etaSeconds
  const outcome = { committed: 600, quarantined: 0, failed: 0 }
  const source = readerStatus({ outcome })
  const training = trainingStatus()
  assert.equal(left({}), 3723)
  assert.equal(left({ training }), 3723)
  assert.equal(left({ source, training }), 73)
  assert.equal(left({ source, training, state: 'paused' }), null)
  const begins = trainingStatus({ trainer: { step: 0 } })
  assert.equal(left({ source, training: begins }), null)
})
