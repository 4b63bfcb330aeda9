import assert from 'node:assert/strict'
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { openStore } from '../../../src/store/open.ts'
import { saved, trainedAt } from '../../src/checkpoint/trained.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { entriesIn, type FinishedRun, finishedRun } from '../../support/commands/finished-run.ts'
import { filesBelow, folder, listing } from '../../support/commands/golden-job.ts'

/** `verify`, and how what it finds is mended. */

const dir = folder({ after })
let run: FinishedRun
before(async () => {
  run = await finishedRun(dir)
})
const verify = (...args: string[]) => draftsmith(['verify', ...args], { dir })
const samplesOf = (store: string): string[] =>
  filesBelow(join(store, 'hidden-states')).map((path) => join('hidden-states', path))

/** Of the right size, and other bytes. */
function flip(path: string): void {
  const bytes = readFileSync(path)
  bytes[bytes.length - 20] ^= 1
  writeFileSync(path, bytes)
}

test('verify: says what it looked at, and what not', async () => {
  const { url } = run.copy('said')
  const [plain, none, deep] = await Promise.all([
    verify(url),
    verify(url, '--heads', '0'),
    verify(url, '--deep', '--parallel', '3'),
  ])
  for (const ended of [plain, none, deep]) {
    assert.deepEqual([ended.code, ended.stderr], [0, ''])
    assert.match(ended.stdout, /^Verified: all 12 samples of the manifest are in file:\/\//)
    assertReadable(ended)
  }
  assert.match(
    plain.stdout,
    /not checked: checksums, for this store tells none of what is stored, what/,
  )
  assert.match(
    none.stdout,
    /not checked: the checksums of 12 \(--heads all\), what the objects hold/,
  )
  assert.match(deep.stdout, /^Checked: presence and size of all, every byte\.$/m)
})

test('verify: a damaged object of the right size is found by reading it, and only so', async () => {
  const { path, url } = run.copy('damaged')
  const [damaged] = samplesOf(path)
  flip(join(path, damaged))
  const [plain, deep] = await Promise.all([verify(url), verify(url, '--deep', '--json')])
  assert.equal(plain.code, 0)
  assert.equal(deep.code, 1)
  const { differ, read } = JSON.parse(deep.stdout)
  assert.equal(read, 12)
  assert.deepEqual(
    differ.map(({ key }: { key: string }) => key),
    [damaged],
  )
  assert.match(differ[0].problem, /^crc32: want=\d+, found=\d+$/)
})

test('verify: a newest checkpoint that is not what was saved is told, and exits 1', async () => {
  const { path, url } = run.copy('trained')
  const store = await openStore(url)
  await saved(store, trainedAt(10))
  const name = await saved(store, trainedAt(20))
  const half = await saved(store, trainedAt(30))
  await store.remove(fileKey(half, 'state'))
  flip(join(path, fileKey(name, 'model')))
  const [plain, deep] = await Promise.all([verify(url), verify(url, '--deep')])
  assert.equal(plain.code, 0, plain.stderr)
  const passed = '1 that are not complete are passed over.'
  const bytes = 'by sizes; its bytes with --deep'
  assert.ok(plain.stdout.includes(`whole: step 20, ${name} (${bytes}). ${passed}`), plain.stdout)
  assert.equal(deep.code, 1)
  assert.match(
    deep.stdout,
    /^The newest checkpoint, .*is damaged: file of a checkpoint has another/m,
  )
  assertReadable(deep)
})

test('verify --repair: marks what differs as lost, and the next run mends it', async () => {
  const { path, url } = run.copy('repaired')
  const before = listing(join(path, 'hidden-states'))
  const entries = await entriesIn(url)
  const [gone, short, damaged] = samplesOf(path)
  rmSync(join(path, gone))
  truncateSync(join(path, short), 1000)
  flip(join(path, damaged))

  const found = await verify(url, '--deep', '--repair')
  assert.equal(found.code, 1, found.stderr)
  assert.match(found.stdout, /^3 of 12 samples differ/m)
  assert.match(found.stdout, /^3 are marked as lost: the next run extracts them again/m)
  assert.ok(!filesBelow(path).includes('manifest/lock.json'))
  const marked = await entriesIn(url)
  const lost = marked.filter(({ status }) => status === 'lost')
  assert.equal(lost.length, 3)
  for (const { attempt, reason } of lost) {
    assert.equal(attempt, 256)
    assert.match(reason ?? '', /^its object (is not there|size: want=\d+|crc32: want=)/)
  }
  const again = await verify(url, '--repair', '--json')
  assert.deepEqual([again.code, JSON.parse(again.stdout).repaired], [0, 0])
  assert.equal(JSON.parse(again.stdout).lost, 3)

  const ended = await draftsmith(['run', run.configFor('repaired'), '--json'], { dir })
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(JSON.parse(ended.stdout).stored.samples, 3)
  assert.deepEqual(listing(join(path, 'hidden-states')), before)
  const whole = await verify(url, '--deep')
  assert.deepEqual([whole.code, whole.stderr], [0, ''])
  assert.match(whole.stdout, /all 12 samples of the manifest are in file:\/\/\S+$/m)
  const mended = await entriesIn(url)
  assert.deepEqual(
    mended.map((entry) => ({ ...entry, attempt: 0 })),
    entries,
  )
})

test('verify: options that make no sense, and a run that another holds, are refused', async () => {
  const { path, url } = run.copy('held')
  const holder = {
    writer: 'w',
    host: 'elsewhere',
    bootId: 'b',
    pid: 1,
    nonce: 'n',
    at: Date.now() + 3_600_000,
  }
  // Whole at any moment, as a store's objects are.
  const beat = () => {
    holder.at++
    writeFileSync(join(path, 'beat'), JSON.stringify(holder))
    renameSync(join(path, 'beat'), join(path, 'manifest', 'lock.json'))
  }
  beat()
  // It lives: it beats while it is watched.
  const beating = setInterval(beat, 500)
  try {
    const [held, heads, parallel] = await Promise.all([
      verify(url, '--repair'),
      verify(url, '--heads', 'many'),
      verify(url, '--parallel', '0'),
    ])
    assertRefused(held, { code: 3, says: [/another supervisor holds this run. host=elsewhere/] })
    assertRefused(heads, { says: [/--heads.*invalid.*whole number, or all/] })
    assertRefused(parallel, { says: [/--parallel.*invalid.*from 1 to 999/] })
  } finally {
    clearInterval(beating)
  }
})
