import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeSafetensors } from '../../../src/safetensors/write.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { runThrough } from '../../support/commands/finished-run.ts'
import { filesBelow, folder, listing, writeConfig } from '../../support/commands/golden-job.ts'

/** What another run extracted: 12 files, as they lie in its store. */
async function earlier(dir: string): Promise<string> {
  await runThrough(dir, 'earlier')
  return join(dir, 'earlier/store/hidden-states')
}

const samplesOf = (dir: string, name: string) => listing(join(dir, name, 'store/hidden-states'))

/** Files that prove nothing, among those that do. */
function addStrangers(files: string): void {
  const ids = { name: 'token_ids', dtype: 'I64', shape: [2], data: new Uint8Array(16) } as const
  const states = {
    name: 'hidden_states',
    dtype: 'F32',
    shape: [2, 5, 64],
    data: new Uint8Array(2560),
  } as const
  const put = (name: string, parts: Uint8Array[]) =>
    writeFileSync(join(files, name), Buffer.concat(parts))
  put('hs_0.safetensors', encodeSafetensors([ids, states]))
  put('hs_1.safetensors', encodeSafetensors([states]))
  writeFileSync(join(files, 'hs_2.safetensors'), 'no safetensors file')
}

test('import: killed in the middle and again, it ends as if never disturbed', async (t) => {
  const dir = folder(t)
  const files = await earlier(dir)
  addStrangers(files)
  const before = listing(files)
  const config = writeConfig(dir, 'now', { commit: { every: 2, seconds: 1 } })
  for (const crash of [
    { at: 'spool.before-rename', hit: 3, end: 'all' },
    { at: 'ledger.stored', hit: 4, end: 'all' },
  ] as const) {
    const killed = await start(t, ['import', files, config], { dir, crash }).ended()
    assert.equal(killed.signal, 'SIGKILL', killed.stderr)
  }
  const { code, stdout, stderr } = await draftsmith(['import', files, config, '--json'], { dir })
  assert.equal(code, 1, stderr)
  const told = JSON.parse(stdout)
  const { imported, alreadyThere, leftAlone } = told.files
  assert.deepEqual([told.files.files, imported + alreadyThere, leftAlone], [15, 12, 3])
  assert.deepEqual(
    told.leftAlone.map((left: { file: string; reason: string }) => [left.file, left.reason]),
    [
      ['hs_0.safetensors', 'no usable row has its token ids'],
      ['hs_1.safetensors', 'no hidden states and token ids inside'],
      ['hs_2.safetensors', 'it cannot be read'],
    ],
  )
  assert.deepEqual(samplesOf(dir, 'now'), withoutStrangers(before))
  assert.deepEqual(listing(files), before, 'the files stay as they were')
  assert.deepEqual(readdirSync(join(dir, 'now/work/spool')), [])
  await assertNothingLeftToRun(dir, config)
})

test('import: one whose thread ends is started again, and takes the rest', async (t) => {
  const dir = folder(t)
  const files = await earlier(dir)
  addStrangers(files)
  const config = writeConfig(dir, 'now')
  const crash = { at: 'spool.renamed', hit: 2, end: 'thread' } as const
  const { code, stdout, stderr } = await start(t, ['import', files, config], { dir, crash }).ended()
  assert.equal(code, 1, stderr)
  assert.match(stderr, /"child":"importer".*"msg":"died"/)
  // The importer that was started again found some of its own there; the report does not say so.
  assert.match(stdout, /: 12 imported, 0 already there, 3 left alone. All stay where they are.\n/)
  assert.match(stdout, /hs_1.safetensors: no hidden states and token ids inside \(/)
  assert.deepEqual(samplesOf(dir, 'now'), withoutStrangers(listing(files)))
})

test('import: a list that cannot be written hides no file that was left alone', async (t) => {
  const dir = folder(t)
  const files = join(dir, 'files')
  mkdirSync(files)
  addStrangers(files)
  const config = writeConfig(dir, 'now')
  mkdirSync(join(dir, 'now/work/logs/import-left-alone.jsonl'), { recursive: true })
  const { code, stdout, stderr } = await draftsmith(['import', files, config], { dir })
  assert.equal(code, 1, stderr)
  assert.match(
    stdout,
    /, 3 left alone. All stay where they are. No sample is new to the store.\n {2}… not all/,
  )
})

const withoutStrangers = (before: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(before).filter(([path]) => !path.includes('hs_')))

async function assertNothingLeftToRun(dir: string, config: string): Promise<void> {
  const { code, stdout, stderr } = await draftsmith(['run', config, '--json'], { dir })
  assert.equal(code, 0, stderr)
  const { extracted, rows } = JSON.parse(stdout)
  assert.deepEqual([extracted.samples, rows.committed], [0, 12])
}

test('import: what lacks is computed by the next run', async (t) => {
  const dir = folder(t)
  const files = await earlier(dir)
  for (const path of filesBelow(files).slice(0, 5)) rmSync(join(files, path))
  const config = writeConfig(dir, 'now')
  const first = await draftsmith(['import', files, config], { dir })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /Of 7 files: 7 imported, 0 already there, 0 left alone/)
  // Nothing in a name tells the row: to find it, all were hashed, and the run does not do so again.
  assert.match(first.stderr, /"rows":12,"known":12,"msg":"row hashes are kept/)
  const before = listing(join(dir, 'now/store'))
  const second = await draftsmith(['import', files, config], { dir })
  assert.equal(second.code, 0, second.stderr)
  assert.match(
    second.stdout,
    /: 0 imported, 7 already there, 0 left alone.* No sample is new to the/,
  )
  assert.deepEqual(listing(join(dir, 'now/store')), before)
  const { code, stdout, stderr } = await draftsmith(['run', config, '--json'], { dir })
  assert.equal(code, 0)
  assert.match(stderr, /"known":12,"from":"work folder","msg":"row hashes were kept/)
  assert.doesNotMatch(stderr, /"msg":"row hashes are kept|hashed as they are read/)
  assert.equal(JSON.parse(stdout).extracted.samples, 5)
  const now = Object.keys(samplesOf(dir, 'now'))
  assert.equal(now.length, 12)
  for (const path of filesBelow(files)) assert.ok(now.includes(path), path)
})

test('import: folders that cannot be meant are refused', async (t) => {
  const dir = folder(t)
  const config = writeConfig(dir, 'now')
  const refused = async (from: string, says: RegExp) =>
    assertRefused(await draftsmith(['import', from, config], { dir }), { says: [says] })
  await refused(join(dir, 'none'), /there is no folder to import/)
  mkdirSync(join(dir, 'empty'))
  await refused(join(dir, 'empty'), /no safetensors file/)
  mkdirSync(join(dir, 'now/work/spool'), { recursive: true })
  await refused(join(dir, 'now'), /own spool is in what is to import/)
  await refused(join(dir, 'now/work/spool'), /own spool is in what is to import/)
})
