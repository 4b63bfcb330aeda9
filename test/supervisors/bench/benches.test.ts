/**
 * Each benchmark at a tiny size: what it measures is right; how long that takes is not looked at.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startAsked } from '../../../supervisors/bench/asked-process.ts'
import { benchFolder } from '../../../supervisors/bench/bench-folder.ts'
import { benchExtract } from '../../../supervisors/bench/extract.ts'
import { inFreshProcess } from '../../../supervisors/bench/fresh.ts'
import { benchRecover } from '../../../supervisors/bench/recover.ts'
import { benchReplay } from '../../../supervisors/bench/replay.ts'
import type { BenchReport } from '../../../supervisors/bench/report.ts'
import { benchResume } from '../../../supervisors/bench/resume.ts'
import { benchStartup } from '../../../supervisors/bench/startup.ts'
import { benchTrain } from '../../../supervisors/bench/train.ts'
import { bench } from '../../../supervisors/commands/bench.ts'
import { scratch } from '../../support/target-run.ts'

const silent = () => undefined

/** A value of each repeat for each figure, each of them a measure of something. */
function assertMeasured(report: BenchReport, repeats: number): void {
  assert.ok(report.figures.length >= 1)
  for (const { name, values } of report.figures) {
    assert.equal(values.length, repeats, name)
    for (const value of values) assert.ok(Number.isFinite(value) && value > 0, `${name}: ${value}`)
  }
}

test('bench startup: all rows are planned; the dataset is made once for a folder', async (t) => {
  const folder = await scratch(t)
  const notes: string[] = []
  for (let run = 0; run < 2; run++) {
    const report = await benchStartup(folder, { rows: 1500, repeats: 2 }, (text) => {
      notes.push(text)
    })
    assertMeasured(report, 2)
    assert.equal(report.sizes.rows, 1500)
    assert.ok(report.sizes.batches > 1 && report.sizes.tokens > 1500)
  }
  assert.equal(notes.filter((note) => /making a dataset of 1500 rows/.test(note)).length, 1)
  assert.deepEqual(readdirSync(folder), ['rows-1500'])
})

test('bench replay: every entry comes back, from a snapshot and segments', async (t) => {
  const folder = await scratch(t)
  const report = await benchReplay(folder, { entries: 777, repeats: 2 }, silent)
  assertMeasured(report, 2)
  assert.deepEqual(report.sizes, { entries: 777, segments: 50, repeats: 2 })
  assert.deepEqual(readdirSync(folder), [])
})

test('bench resume: each way finds every object; a store is made once for a folder', async (t) => {
  const folder = await scratch(t)
  const notes: string[] = []
  for (let run = 0; run < 2; run++) {
    const report = await benchResume(folder, { entries: 1200, repeats: 1 }, (text) => {
      notes.push(text)
    })
    assertMeasured(report, 1)
    assert.ok(report.sizes.objects > 1150 && report.sizes.objects <= 1200)
  }
  assert.equal(notes.filter((note) => /making a store/.test(note)).length, 1)
  assert.deepEqual(readdirSync(folder), ['store-1200'])
})

test('bench recover: a new machine goes on with a job that another has begun', async (t) => {
  const folder = await scratch(t)
  const report = await benchRecover(folder, { entries: 500, repeats: 1 }, silent)
  assertMeasured(report, 1)
  assert.deepEqual(readdirSync(folder).sort(), ['job-500', 'small-target'])
})

test('bench extract: pipeline and onnxruntime alone compute the same samples', async (t) => {
  const folder = await scratch(t)
  const target = {
    layers: 8,
    hiddenSize: 32,
    intermediateSize: 48,
    vocabSize: 100,
    heads: 4,
    kvHeads: 2,
    headDim: 16,
  }
  const report = await benchExtract(folder, { rows: 30, repeats: 1, target }, silent)
  assertMeasured(report, 1)
  assert.equal(report.sizes.samples, 30)
  assert.ok(report.sizes.tokens > 30 * 8)
  assert.deepEqual(readdirSync(folder).sort(), ['samples-30', 'target'])
})

test('bench train: every side that is there takes the same steps', async (t) => {
  const folder = await scratch(t)
  const drafter = {
    layers: 2,
    hiddenSize: 16,
    intermediateSize: 24,
    vocabSize: 50,
    heads: 4,
    kvHeads: 2,
    headDim: 8,
    blockSize: 4,
  }
  const size = { name: 'tiny', shape: { rows: 2, tokens: 24, blocks: 4 }, drafter }
  const report = await benchTrain(
    folder,
    { sizes: [size], threads: 1, repeats: 2, compiled: false },
    silent,
  )
  assertMeasured(report, 2)
  assert.deepEqual(report.sizes, { 'parameters of tiny': 6784, threads: 1, repeats: 2 })
})

test('bench: a measured process that fails is told with its last words', async () => {
  const script = new URL('../../../supervisors/bench/replay-once.js', import.meta.url)
  await assert.rejects(
    inFreshProcess({ script, args: ['ftp://nowhere'] }),
    /replay-once\.js, end=1[\s\S]*is neither file: nor s3:/,
  )
})

test('bench: a process that is asked and ends instead is told with its last words', async () => {
  const code = "console.error('last words'); process.stdin.once('data', () => process.exit(3))"
  const asked = startAsked({ command: process.execPath, args: ['-e', code] })
  await assert.rejects(asked.ask('step'), /ended[\s\S]*last words/)
  await asked.close()
})

test('bench: a temporary folder goes, a named one stays', async (t) => {
  const named = join(await scratch(t), 'kept')
  let temporary: string
  {
    using folder = benchFolder(undefined)
    using kept = benchFolder(named)
    temporary = folder.path
    assert.ok(existsSync(temporary))
    assert.equal(kept.path, named)
  }
  assert.ok(!existsSync(temporary))
  assert.ok(existsSync(named))
})

test('bench: an unknown name and a size that is none are refused', async () => {
  const want = { name: 'Failure', kind: 'invalid' }
  await assert.rejects(bench('speed', { json: false }), {
    ...want,
    message: /want=extract, recover, replay, resume, startup, train, upload, found=speed$/,
  })
  await assert.rejects(bench('toString', { json: false }), want)
  await assert.rejects(bench('replay', { json: false, entries: '1e6' }), {
    ...want,
    message: 'no such size. option=--entries, want=1 or more, found=1e6',
  })
})
