import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type BenchReport,
  reportJson,
  reportText,
  spreadOf,
} from '../../../supervisors/bench/report.ts'

const report: BenchReport = {
  bench: 'replay',
  sizes: { entries: 914_000, repeats: 3 },
  method: ['Each repeat is a new process.'],
  figures: [
    { name: 'replay', unit: 's', values: [0.5, 0.4, 2], target: { below: 1 } },
    { name: 'quotient', unit: '×', values: [0.7, 0.8, 1.1], target: { atLeast: 0.9 } },
    { name: 'speed', unit: 'tokens/s', values: [1999, 2400, 2100] },
  ],
}

test('bench report: the middle of an odd number, the mean of the middle two of an even one', () => {
  assert.deepEqual(spreadOf([3, 1, 10]), { median: 3, min: 1, max: 10 })
  assert.deepEqual(spreadOf([4, 1, 10, 2]), { median: 3, min: 1, max: 10 })
  assert.throws(() => spreadOf([]), RangeError)
})

test('bench report: a table shows spread, claim and whether it holds', () => {
  const text = reportText(report)
  assert.match(text, /^replay: 914,000 entries, 3 repeats\n/)
  assert.match(text, /^replay +0\.500 s +0\.400 – 2\.00 +< 1 s: met$/m)
  assert.match(text, /^quotient +0\.800 × +0\.700 – 1\.10 +≥ 0\.9 ×: missed$/m)
  assert.match(text, /^speed +2,100 tokens\/s +1,999 – 2,400$/m)
  assert.match(text, /Each repeat is a new process\.$/)
})

test('bench report: the JSON document holds every repeat, and what was claimed', () => {
  const read: unknown = JSON.parse(reportJson(report))
  assert.ok(typeof read === 'object' && read !== null && 'figures' in read && 'machine' in read)
  assert.deepEqual(read.figures, [
    {
      name: 'replay',
      unit: 's',
      median: 0.5,
      min: 0.4,
      max: 2,
      values: [0.5, 0.4, 2],
      target: { below: 1 },
      met: true,
    },
    {
      name: 'quotient',
      unit: '×',
      median: 0.8,
      min: 0.7,
      max: 1.1,
      values: [0.7, 0.8, 1.1],
      target: { atLeast: 0.9 },
      met: false,
    },
    {
      name: 'speed',
      unit: 'tokens/s',
      median: 2100,
      min: 1999,
      max: 2400,
      values: [1999, 2400, 2100],
      target: null,
      met: null,
    },
  ])
})
