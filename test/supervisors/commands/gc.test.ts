import assert from 'node:assert/strict'
import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { writtenKey } from '../../../src/manifest/names.ts'
import { openStore } from '../../../src/store/open.ts'
import { saved, trainedAt } from '../../src/checkpoint/trained.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { type FinishedRun, finishedRun } from '../../support/commands/finished-run.ts'
import { filesBelow, folder } from '../../support/commands/golden-job.ts'

/** `gc`: what is of no use goes, once it is old, and nothing else. */

const dir = folder({ after })
let run: FinishedRun
before(async () => {
  run = await finishedRun(dir)
})
const gc = (...args: string[]) => draftsmith(['gc', ...args], { dir })

const twoDaysAgo = Date.now() / 1000 - 2 * 86_400
function put(store: string, key: string, { isOld }: { readonly isOld: boolean }): void {
  const path = join(store, key)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, 'left behind')
  if (isOld) utimesSync(path, twoDaysAgo, twoDaysAgo)
}

const old = 'hidden-states/00/00000000000000000000000000000000-00000000.safetensors'
const young = 'hidden-states/11/11111111111111111111111111111111-00000000.safetensors'

test('gc: tells first, then removes what no line names and is old; all else stays', async () => {
  const { path, url } = run.copy('swept')
  put(path, old, { isOld: true })
  put(path, young, { isOld: false })
  put(path, 'probe/one', { isOld: true })
  const store = await openStore(url)
  const whole = await saved(store, trainedAt(20))
  const cut = await saved(store, trainedAt(30))
  await store.remove(fileKey(cut, 'model'))
  const half = (['optimizer', 'state'] as const).map((file) => fileKey(cut, file))
  const halfBytes = half.reduce((sum, key) => sum + statSync(join(path, key)).size, 0)
  const dead = await store.startMultipart('dataset/older')
  await dead.putPart(1, Buffer.from('left behind'))
  // All that the run itself has stored is old, too: named, it stays.
  for (const file of filesBelow(path)) {
    if (file !== young) utimesSync(join(path, file), twoDaysAgo, twoDaysAgo)
  }
  await store.startMultipart('dataset/big')
  const before = filesBelow(path)

  const dry = await gc(url, '--dry-run')
  assert.equal(dry.code, 0, dry.stderr)
  assert.ok(
    dry.stdout.startsWith(
      `${[old, ...half, 'probe/one'].join('\n')}\nWould remove from ${url}, older than 24 h:\n`,
    ),
  )
  assert.match(dry.stdout, /^ {2}1 \(11 B\) sample objects that no manifest line names$/m)
  assert.match(dry.stdout, /^ {2}1 \(11 B\) objects that probes left$/m)
  assert.match(dry.stdout, /^ {2}2 \(.* kB\) files of checkpoints that are not complete$/m)
  assert.match(dry.stdout, /^ {2}1 uploads in parts that were never completed$/m)
  assert.match(dry.stdout, /^2 younger ones stay.$/m)
  assertReadable(dry)
  assert.deepEqual(filesBelow(path), before)

  const done = await gc(url, '--json')
  assert.equal(done.code, 0, done.stderr)
  const told = JSON.parse(done.stdout)
  assert.deepEqual(told.samples, { count: 1, bytes: 11, keys: [old] })
  assert.deepEqual(told.uploads, { count: 1, keys: ['dataset/older'] })
  assert.deepEqual(told.checkpoints, { count: 2, bytes: halfBytes, keys: half })
  assert.deepEqual([told.probes.count, told.left], [1, 2])
  assert.deepEqual(
    filesBelow(path).filter((file) => !file.startsWith('.draftsmith/')),
    before.filter(
      (file) => ![...half, 'probe/one', old].includes(file) && !file.startsWith('.draftsmith/'),
    ),
  )
  const open = await store.openMultiparts('')
  assert.deepEqual(
    open.map(({ key }) => key),
    ['dataset/big'],
  )
  assert.ok(!filesBelow(path).some((file) => file.includes(dead.id)), 'its parts are gone too')
  const verified = await draftsmith(['verify', url, '--deep'], { dir })
  assert.equal(verified.code, 0, verified.stdout)
  assert.ok(verified.stdout.includes(`checkpoint is whole: step 20, ${whole} (by sizes and every`))
})

test('gc: a machine whose clock is two days ahead tells and removes by the store’s', async () => {
  const { path, url } = run.copy('ahead')
  put(path, old, { isOld: true })
  put(path, young, { isOld: false })
  const ahead = 'const { now } = Date; Date.now = () => now() + 2 * 86_400_000'
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` }
  for (const args of [['--dry-run'], []]) {
    const ended = await draftsmith(['gc', url, '--json', ...args], { dir, env })
    assert.equal(ended.code, 0, ended.stderr)
    const told = JSON.parse(ended.stdout)
    assert.deepEqual([told.samples.keys, told.left], [[old], 1])
  }
  assert.ok(filesBelow(path).includes(young))
})

test('gc: --dry-run takes the time from no lock that lies there', async () => {
  const { path, url } = run.copy('locked')
  put(path, old, { isOld: true })
  put(path, 'manifest/lock.json', { isOld: true })
  const dry = await gc(url, '--dry-run', '--json')
  assert.equal(dry.code, 0, dry.stderr)
  assert.deepEqual(JSON.parse(dry.stdout).samples.keys, [old])
})

test('gc: a note beside the manifest that is damaged is told of', async () => {
  const { path, url } = run.copy('note')
  writeFileSync(join(path, writtenKey), '{"format":')
  const dry = await gc(url, '--dry-run')
  assert.equal(dry.code, 0)
  assert.match(dry.stderr, /a note beside the manifest is damaged/)
})

test('gc: less than a day, no run, and a run that is held are refused', async () => {
  const { path, url } = run.copy('held')
  put(path, old, { isOld: true })
  const holder = { writer: 'w', host: 'elsewhere', bootId: 'b', pid: 1, nonce: 'n', at: Date.now() }
  const lock = join(path, 'manifest', 'lock.json')
  // It lives: it beats while it is watched.
  const beat = () => {
    holder.at = Date.now() + 60_000
    writeFileSync(lock, JSON.stringify(holder))
  }
  beat()
  const beating = setInterval(beat, 500)
  try {
    const [held, hasty, nonsense, none] = await Promise.all([
      gc(url),
      gc(url, '--older-than', '23h'),
      gc(url, '--older-than', 'soon'),
      gc(`file://${join(dir, 'nothing')}`),
    ])
    assertRefused(held, { code: 3, says: [/another supervisor holds this run. host=elsewhere/] })
    assertRefused(hasty, { says: [/younger than a day.*want=24h or more, found=23h/] })
    assertRefused(nonsense, { says: [/--older-than.*hours or days/] })
    assertRefused(none, { says: [/holds no run/] })
  } finally {
    clearInterval(beating)
  }
  assert.ok(filesBelow(path).includes(old))
})
