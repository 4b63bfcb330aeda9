import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressFacts } from '../../../supervisors/run/progress-facts.ts'
import { importerStatus, runStatus } from '../../support/statuses.ts'

test('progress facts: of an import, files where a run has rows', () => {
  const facts = JSON.stringify(progressFacts(runStatus({ source: importerStatus() })))
  assert.match(facts, /"files":400,"filesDone":300/)
  assert.doesNotMatch(facts, /rows/)
})
