import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulatorHasItsTime, simulatorRunsProduct } from './simulator-rules.ts'
import type { Source } from './sources.ts'

const found = (rule: typeof simulatorRunsProduct, sources: readonly Source[]): string[] =>
  rule(sources).map(({ path, message }) => `${path}: ${message}`)

test('tidy rules: a simulator that runs a copy of the product is found', () => {
  const told = found(simulatorRunsProduct, [
    {
      path: 'test/simulator/a.ts',
      text: "import { RunProcess } from '../../supervisors/run/run.ts'",
    },
  ])
  assert.ok(told.some((line) => line.startsWith('actors/ledger/begin.ts: ')))
  assert.ok(!told.some((line) => line.startsWith('supervisors/run/run.ts: ')))
})

test('tidy rules: a simulator that touches what is real is found', () => {
  const told = found(simulatorRunsProduct, [
    { path: 'test/simulator/a.ts', text: "import { writeFile } from 'node:fs/promises'" },
    { path: 'test/simulator/b.ts', text: "import { connect } from 'node:net'" },
  ])
  assert.ok(told.some((line) => line.startsWith('test/simulator/a.ts: node:fs/promises')))
  assert.ok(told.some((line) => line.startsWith('test/simulator/b.ts: node:net')))
})

test('tidy rules: real time in a simulator is found', () => {
  const text = 'const now = Date.now()'
  assert.equal(simulatorHasItsTime([{ path: 'test/simulator/a.ts', text }]).length, 1)
  assert.equal(simulatorHasItsTime([{ path: 'test/simulator/a.test.ts', text }]).length, 0)
})
