import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { RunStatus } from '../../../protocol/console.ts'
import { importText } from '../../../supervisors/display/import-report.ts'
import { exitCodes } from '../../../supervisors/run/machine.ts'
import { importerStatus, ledgerStatus, runStatus } from '../../support/statuses.ts'
import { scratch } from '../../support/target-run.ts'

const amount = (samples: number) => ({ samples, bytes: 10 * samples, tokens: 2 * samples })
const counted = (samples: number) =>
  ledgerStatus({ spooled: amount(samples), stored: amount(samples) })

async function listOf(t: TestContext, files: readonly string[]): Promise<string> {
  const list = join(await scratch(t), 'left.jsonl')
  const lines = files.map((file) => JSON.stringify({ file, reason: 'it is none', facts: 'x=1' }))
  writeFileSync(list, lines.join('\n'))
  return list
}

const textOf = (code: number, status: Partial<RunStatus>, list = 'none') =>
  importText({ code, failure: null, status: runStatus(status) }, { json: false, list })

test('import report: each file is counted once; those left alone are named', async (t) => {
  const list = await listOf(t, ['a', 'b', 'c'])
  const source = importerStatus({
    examined: 300,
    inHand: 0,
    outcome: { committed: 295, failed: 2 },
  })
  const text = textOf(exitCodes.incomplete, { source, ledger: counted(247) }, list)
  assert.deepEqual(text.split('\n'), [
    'Finished, but not whole: s3://bucket/run',
    'Of 400 files: 247 imported, 50 already there, 3 left alone. All stay where they are. ' +
      'The store refused the samples of 2.',
    '  a: it is none (x=1)',
    '  b: it is none (x=1)',
    '  c: it is none (x=1)',
  ])
})

test('import report: a list of many is cut, one that lacks some says so', async (t) => {
  const many = Array.from({ length: 30 }, (_, i) => `f${i}`)
  const list = await listOf(t, many)
  const of = (left: number) =>
    importerStatus({ leftAlone: { any: left }, outcome: { committed: 0, failed: 0 } })
  const cut = textOf(exitCodes.incomplete, { source: of(30) }, list).split('\n')
  assert.deepEqual([cut.length, cut.at(-1)], [23, `  … all are named in ${list}`])
  const lacks = textOf(exitCodes.incomplete, { source: of(31) }, list).split('\n')
  assert.equal(lacks.at(-1), `  … not all could be listed in ${list}`)
})

test('import report: a file’s name is one line, and moves no terminal’s cursor', async (t) => {
  const list = await listOf(t, ['a\n\x1b[2Jb'])
  const source = importerStatus({ leftAlone: { any: 1 }, outcome: { committed: 0, failed: 0 } })
  const lines = textOf(exitCodes.incomplete, { source }, list).split('\n')
  assert.equal(lines.at(-1), '  a \ufffd[2Jb: it is none (x=1)')
})

test('import report: where all was there, no sample is new', () => {
  const source = importerStatus({
    files: 12,
    found: 12,
    imported: 0,
    inHand: 0,
    leftAlone: {},
    outcome: { committed: 12, failed: 0 },
  })
  assert.deepEqual(textOf(exitCodes.done, { source, ledger: counted(0) }).split('\n'), [
    "Done: every file's sample is in s3://bucket/run",
    'Of 12 files: 0 imported, 12 already there, 0 left alone. All stay where they are. ' +
      'No sample is new to the store.',
  ])
  // An importer before this one took five of them.
  assert.match(
    textOf(exitCodes.done, { source, ledger: counted(5) }),
    /5 imported, 7 already there/,
  )
})

test('import report: a file that was torn and taken again is one file that was imported', () => {
  // Three were there; of the seven that were taken the second look found six.
  const outcome = { committed: 10, failed: 0 }
  const counts = { files: 10, examined: 10, found: 9, imported: 1, inHand: 0 }
  const source = importerStatus({ ...counts, leftAlone: {}, outcome })
  const text = textOf(exitCodes.done, { source, ledger: counted(7) })
  assert.match(text, /Of 10 files: 7 imported, 3 already there, 0 left alone/)
})

test('import report: one that was stopped says what goes on, and how far it was', () => {
  const text = textOf(exitCodes.stopped, { source: importerStatus(), ledger: counted(247) })
  assert.deepEqual(text.split('\n'), [
    'Stopped; an `import` of the same folder goes on.',
    'Of 400 files 304 were examined: 247 imported, 50 already there, 3 left alone, ' +
      '4 not taken yet. All stay where they are.',
  ])
  const early = textOf(exitCodes.stopped, { source: null, ledger: null })
  assert.equal(early, 'Stopped; an `import` of the same folder goes on.')
})
