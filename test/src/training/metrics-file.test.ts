import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { MetricsFile, metricsPath } from '../../../src/training/metrics-file.ts'
import { silent } from '../../support/ledger-rig.ts'
import { needs } from '../../support/needs.ts'
import { scratch } from '../../support/target-run.ts'

const stepsIn = (work: string): number[] =>
  readFileSync(metricsPath(work), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).step)

test('metrics file: what a killed process left of a line goes before the next one', async (t) => {
  const work = await scratch(t)
  const metrics = new MetricsFile({ work, training: 't', log: silent })
  metrics.write('step', { step: 1 })
  appendFileSync(metricsPath(work), '{"time":"2026-')
  metrics.write('step', { step: 2 })
  assert.deepEqual(stepsIn(work), [1, 2])
  writeFileSync(metricsPath(work), 'half a line and no other')
  metrics.write('step', { step: 3 })
  assert.deepEqual(stepsIn(work), [3])
})

/** On a disk of 64 KiB: fills it, writes, frees it, writes; tells what the log was told. */
const program = `
  const [module, work] = process.argv.slice(1)
  const { MetricsFile, metricsPath } = await import(module)
  const { readFileSync, rmSync, writeFileSync } = await import('node:fs')
  const told = []
  const log = { warn: ({ lines }, text) => told.push(lines ?? text) }
  const metrics = new MetricsFile({ work, training: 't', log })
  const wide = 'x'.repeat(3000)
  metrics.write('step', { step: 1, wide })
  try { writeFileSync(work + '/else', new Uint8Array(1 << 20)) } catch {}
  for (let step = 2; step <= 9; step++) metrics.write('step', { step, wide })
  const full = readFileSync(metricsPath(work), 'utf8')
  rmSync(work + '/else')
  metrics.write('step', { step: 10 })
  metrics.end()
  const lines = readFileSync(metricsPath(work), 'utf8').trimEnd().split('\\n')
  const steps = lines.map((line) => JSON.parse(line).step)
  console.log(JSON.stringify({ told, steps, isWhole: full.endsWith('}\\n') }))`

test('metrics file: a full disk costs lines, counted, and never half of one', async (t) => {
  const unshare = needs(t, 'unshare')
  if (!unshare) return
  const work = await scratch(t)
  const script = 'mount -t tmpfs -o size=64k tmpfs "$3" && exec "$0" -e "$1" "$2" "$3"'
  const module = new URL('../../../src/training/metrics-file.js', import.meta.url).href
  const command = ['sh', '-c', script, process.execPath, program, module, work]
  const run = spawnSync(unshare, ['-rm', ...command])
  if (run.status !== 0) return t.skip(`no small disk can be mounted here: ${run.stderr}`)
  const { told, steps, isWhole } = JSON.parse(String(run.stdout))
  assert.ok(isWhole)
  const lost = 8 - (steps.length - 2)
  assert.ok(lost >= 7)
  assert.deepEqual(steps.at(-1), 10)
  assert.equal(told.length, 2)
  assert.match(told[0], /lost from here on/)
  assert.equal(told[1], lost)
})
