import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { seededRandom } from '../../src/clock.ts'
import { writeDataset } from '../../src/dataset/write.ts'
import { encodeSafetensors } from '../../src/safetensors/write.ts'
import { openStore } from '../../src/store/open.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { draftsmithMain } from '../../supervisors/drills/rig/program.ts'
import { credentials, startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { folder, goldenTarget } from '../support/commands/golden-job.ts'
import { needs } from '../support/needs.ts'

const MiB = 2 ** 20
const diskBytes = 64 * MiB
const keepFree = 8 * MiB
const files = 40
const tokens = 8192
/** Five layers of 64 float32: 10 MiB a file, and the ids. */
const states = new Uint8Array(tokens * 5 * 64 * 4)
/** One upload at a time, each so long: the store takes 40 MB/s, a disk in memory far more. */
const putMs = 250

const random = seededRandom(30)
const rows = Array.from({ length: files }, () =>
  Int32Array.from({ length: tokens }, () => Math.floor(random() * 100)),
)

/** All zeros behind the ids, so that the test's own disk need not hold them. */
function writeEarlier(dir: string): void {
  mkdirSync(dir)
  for (const [row, ids] of rows.entries()) {
    const data = new Uint8Array(BigInt64Array.from(ids, BigInt).buffer)
    const parts = encodeSafetensors([
      { name: 'hidden_states', dtype: 'F32', shape: [tokens, 5, 64], data: states },
      { name: 'token_ids', dtype: 'I64', shape: [tokens], data },
    ])
    const file = openSync(join(dir, `hs_${row}.safetensors`), 'w')
    for (const part of parts.slice(0, 2)) writeSync(file, part)
    ftruncateSync(
      file,
      parts.reduce((sum, part) => sum + part.length, 0),
    )
    closeSync(file)
  }
}

/**
 * Mounts a small disk that nobody else sees, runs draftsmith on it, and tells the most that lay
 * there, and what lies there at the end.
 */
const program = `
  const { spawn } = require('node:child_process')
  const { readdirSync, statfsSync } = require('node:fs')
  const [work, ...args] = process.argv.slice(1)
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let [most, stdout] = [0, '']
  const timer = setInterval(() => {
    const { blocks, bavail, bsize } = statfsSync(work)
    most = Math.max(most, (blocks - bavail) * bsize)
  }, 2)
  child.stdout.on('data', (text) => (stdout += text))
  child.on('close', (code) => {
    clearInterval(timer)
    console.log(JSON.stringify({ code, most, stdout, spool: readdirSync(work + '/spool') }))
  })`
const mount = [
  'work=$1 program=$2',
  'shift 2',
  `mount -t tmpfs -o size=${diskBytes} tmpfs "$work"`,
  'exec "$0" -e "$program" "$work" "$@"',
].join(' && ')

const small = z.object({
  code: z.number(),
  most: z.number(),
  stdout: z.string(),
  spool: z.array(z.string()),
})

test('disk: 40 files of 10 MiB through 64 MiB, and a store that is slower (B30)', async (t) => {
  const unshare = needs(t, 'unshare')
  if (!unshare) return
  const mayMount = spawnSync(unshare, ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp'])
  if (mayMount.status !== 0) return t.skip(`no disk can be mounted here: ${mayMount.stderr}`)
  const dir = folder(t)
  const [work, earlier] = ['work', 'earlier'].map((name) => join(dir, name))
  mkdirSync(work)
  writeEarlier(earlier)
  const s3 = await startS3(t)
  const put = { operation: 'PutObject', key: 'hidden-states/' }
  await s3.setFaults([{ match: put, times: 1e6, kind: 'delay', ms: putMs }])
  const config = await writeJob(dir, s3.endpoint)
  const command = {
    file: unshare,
    args: ['-rm', 'sh', '-c', mount, process.execPath, work, program],
  }
  const args = [draftsmithMain, 'import', earlier, config, '--json']
  const ended = await start(t, args, { dir, env: credentials, command }).ended()
  const { code, most, stdout, spool } = small.parse(JSON.parse(ended.stdout))
  assert.equal(code, 0, ended.stderr)
  assert.equal(JSON.parse(stdout).files.imported, files)
  t.diagnostic(`at most ${(most / MiB).toFixed(1)} MiB of ${diskBytes / MiB} lay on the disk`)
  // Besides the spool, the log lies there.
  assert.ok(most <= diskBytes - keepFree + MiB, `most=${most}`)
  assert.match(ended.stderr, /new samples wait for room/)
  assert.doesNotMatch(ended.stderr, /ENOSPC/)
  assert.deepEqual(spool, [])
  await assertAllWhole(s3.endpoint)
})

async function writeJob(dir: string, endpoint: string): Promise<string> {
  const dataset = join(dir, 'dataset')
  const lossMask = new Uint8Array(tokens).fill(1)
  const written = rows.map((inputIds) => ({ inputIds, lossMask }))
  await writeDataset(dataset, { rows: written, count: files, shards: 1, rowsPerBatch: 8 })
  const path = join(dir, 'job.json')
  const config = {
    store: 's3://draftsmith/run',
    s3: { endpoint },
    work: join(dir, 'work'),
    dataset: { path: dataset },
    target: { path: goldenTarget(), layers: [0, 1, 2, 3, 4] },
    extract: { dtype: 'f32', tokenBudget: tokens, maxTokens: tokens },
    upload: { maxParallel: 2, threads: 1 },
    commit: { every: 1, seconds: 1 },
    spool: { keepFree, maxBytes: '100GB' },
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

async function assertAllWhole(endpoint: string): Promise<void> {
  const store = await openStore('s3://draftsmith/run', { endpoint }, { env: credentials })
  const sizes: number[] = []
  for await (const { size } of store.list('hidden-states/')) sizes.push(size)
  store.close()
  assert.equal(sizes.length, files)
  assert.ok(sizes.every((size) => size === sizes[0] && size > states.length))
}
