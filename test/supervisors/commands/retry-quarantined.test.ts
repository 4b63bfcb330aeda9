import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { openClaims } from '../../../src/spool/claims.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { assertReadable, draftsmith } from '../../support/commands/draftsmith.ts'
import { entriesIn, tellIn } from '../../support/commands/finished-run.ts'
import { filesBelow, fileUrl, folder, writeConfig } from '../../support/commands/golden-job.ts'
import { qwen3Rows } from '../../support/commands/golden-rows.ts'
import { layOutJob } from '../../support/crash/job.ts'

/** What could not be computed, computed again. */

/** A line that says so of a golden row. */
const quarantined = (row: number, attempt: number): ManifestEntry => {
  const ids = qwen3Rows()[row].ids
  return {
    hash: contentHash(ids).toString('hex'),
    key: null,
    offset: 0,
    length: 0,
    tokens: ids.length,
    crc32: 0,
    status: 'quarantined',
    reason: 'it ended its extractor each time it was computed',
    attempt,
  }
}

test('retry-quarantined: what could not be computed is computed again, and stored', async (t) => {
  const dir = folder(t)
  const limited = writeConfig(dir, 'job', { extract: { limit: 6 } })
  const begun = await draftsmith(['run', limited], { dir })
  assert.equal(begun.code, 0, begun.stderr)
  const url = fileUrl(dir, 'job', 'store')
  const lines = [quarantined(8, 0), quarantined(9, 3)]
  await tellIn(url, lines)

  const config = writeConfig(dir, 'job')
  const plain = await draftsmith(['run', config, '--json'], { dir })
  assert.equal(plain.code, 1, plain.stderr)
  assert.deepEqual(rowsOf(plain), [10, 2])
  const work = join(dir, 'job', 'work')
  openClaims(work).claim('b000000', { by: 'extractor/0', rows: 3 })
  openClaims(work).charge('extractor/0', { witnessed: true })

  const retried = await draftsmith(['retry-quarantined', config, '--json'], { dir })
  assert.equal(retried.code, 0, retried.stderr)
  assert.deepEqual(rowsOf(retried), [12, 0])
  assert.equal(JSON.parse(retried.stdout).extracted.samples, 2)
  assertReadable(retried)
  const entries = new Map((await entriesIn(url)).map((entry) => [entry.hash, entry]))
  for (const { hash, attempt } of lines) {
    const { status, attempt: now } = entries.get(hash) ?? {}
    assert.deepEqual([status, now], ['stored', attempt])
  }
  assert.deepEqual(filesBelow(join(work, 'claims')), [])
  assert.ok(!filesBelow(work).includes('retry.json'))
  const again = await draftsmith(['retry-quarantined', config, '--json'], { dir })
  assert.deepEqual([again.code, JSON.parse(again.stdout).extracted.samples], [0, 0])
})

test('retry-quarantined: a list that a killed command left goes as the next begins', async (t) => {
  const dir = folder(t)
  const config = writeConfig(dir, 'job', { target: { path: join(dir, 'nothing') } })
  const list = join(dir, 'job', 'work', 'retry.json')
  mkdirSync(dirname(list), { recursive: true })
  writeFileSync(list, '[]')
  const refused = await draftsmith(['retry-quarantined', config], { dir })
  assert.equal(refused.code, 2, refused.stderr)
  assert.ok(!existsSync(list))
})

test('retry-quarantined: told to end while the store says nothing, it ends', async (t) => {
  const s3 = await startS3(t)
  const job = await layOutJob(t, { s3, rows: 20 })
  const begun = await start(t, ['run', job.config], job).ended()
  assert.equal(begun.code, 0, begun.stderr)
  const match = { operation: 'GetObject', key: 'manifest/segments/' }
  const times = 1_000_000
  await s3.setFaults([{ kind: 'hold', times, match }])
  const run = start(t, ['retry-quarantined', job.config, '--json'], job)
  await run.until('its look at the manifest', async () => {
    const [left = times] = await s3.faultsLeft()
    return left < times || undefined
  })
  run.signal('SIGTERM')
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 143, stderr)
  assert.equal(JSON.parse(stdout).extracted, null)
})

const rowsOf = ({ stdout }: { readonly stdout: string }): [number, number] => {
  const { committed, quarantined } = JSON.parse(stdout).rows
  return [committed, quarantined]
}
