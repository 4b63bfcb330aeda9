import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Job } from '../../supervisors/drills/rig/job.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { assertRefused } from '../support/commands/draftsmith.ts'
import { listing } from '../support/commands/golden-job.ts'
import { layOutJob } from '../support/crash/job.ts'

/** Going on would extract, in silence, what is already paid for. */

const segmentsOf = (job: Job): string[] => {
  const dir = join(job.dir, 'store', 'manifest', 'segments')
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.arrow'))
    .sort()
    .map((name) => `manifest/segments/${name}`)
}

/** Everything in the store but the lock, which each attempt takes and gives back. */
const restOf = (job: Job) => {
  const { 'manifest/lock.json': _, ...rest } = listing(join(job.dir, 'store'))
  return rest
}

test('a damaged or missing segment stops a run, which names it and harms nothing', async (t) => {
  const job = await layOutJob(t, { rows: 60 })
  const first = await start(t, ['run', job.config], job).ended()
  assert.equal(first.code, 0, first.stderr)
  const [key, ...later] = segmentsOf(job)
  assert.ok(key && later.length > 0)
  const path = join(job.dir, 'store', key)
  const whole = readFileSync(path)
  const flipped = Buffer.from(whole)
  flipped.writeUInt8(flipped.readUInt8(whole.length - 100) ^ 1, whole.length - 100)

  const remedy = /Restore this object .*every sample is extracted again/
  const damage: readonly [string, () => void, RegExp][] = [
    ['cut', () => writeFileSync(path, whole.subarray(0, -50)), /manifest file is damaged\. key=/],
    ['changed', () => writeFileSync(path, flipped), /manifest file is damaged\. key=/],
    ['missing', () => rmSync(path), /manifest segment is missing, .* key=/],
  ]
  for (const [what, harm, says] of damage) {
    harm()
    const before = restOf(job)
    const ended = await start(t, ['run', job.config, '--json'], job).ended()
    assertRefused(ended, { says: [says, new RegExp(key.replaceAll('.', '\\.')), remedy] })
    assert.deepEqual(restOf(job), before, what)
  }

  // Of the last one nothing else in the manifest knows.
  writeFileSync(path, whole)
  const last = later.at(-1) ?? ''
  const saved = readFileSync(join(job.dir, 'store', last))
  rmSync(join(job.dir, 'store', last))
  const ended = await start(t, ['run', job.config, '--json'], job).ended()
  const cheaper = /Restore this object .*Or remove manifest\/written\.json, knowingly/
  assertRefused(ended, { says: [new RegExp(last.replaceAll('.', '\\.')), cheaper] })

  writeFileSync(join(job.dir, 'store', last), saved)
  const mended = await start(t, ['run', job.config, '--json'], job).ended()
  assert.equal(mended.code, 0, mended.stderr)
  assert.equal(JSON.parse(mended.stdout).extracted.samples, 0)
})
