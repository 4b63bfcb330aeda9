import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import {
  entriesIn,
  type FinishedRun,
  finishedRun,
  tellIn,
} from '../../support/commands/finished-run.ts'
import { filesBelow, folder, writeConfig } from '../../support/commands/golden-job.ts'
import { qwen3Rows } from '../../support/commands/golden-rows.ts'

/** `explain`: where a sample is, and why. */

const dir = folder({ after })
let run: FinishedRun
before(async () => {
  run = await finishedRun(dir)
})
const explain = (...args: string[]) => draftsmith(['explain', ...args], { dir })
const hashes = qwen3Rows().map(({ ids }) => contentHash(ids).toString('hex'))

test('explain: a stored sample, by row, by hash and by its first digits', async () => {
  const { url } = run.copy('stored')
  const config = run.configFor('stored')
  const [byRow, byHash, byStart] = await Promise.all([
    explain('5', '--config', config, '--json'),
    explain(hashes[5], '--store', url),
    explain(hashes[5].slice(0, 12).toUpperCase(), '--store', url, '--json'),
  ])
  for (const ended of [byRow, byHash, byStart]) {
    assert.deepEqual([ended.code, ended.stderr], [0, ''])
    assertReadable(ended)
  }
  const told = JSON.parse(byRow.stdout)
  const [entry] = (await entriesIn(url)).filter(({ hash }) => hash === hashes[5])
  assert.deepEqual([told.state, told.row, told.rows, told.hash], ['stored', 5, [5], hashes[5]])
  assert.deepEqual(told.entry, entry)
  assert.equal(told.object.size, entry.length)
  assert.match(told.local.batch.id, /^b\d{6}$/)
  assert.equal(told.history.length, 1)
  assert.match(told.history[0].file, /^manifest\/segments\//)
  assert.ok(byHash.stdout.startsWith(`sample ${hashes[5]} (rows 5): stored\n`), byHash.stdout)
  assert.match(byHash.stdout, /^ {2}the store has it since 20/m)
  assert.match(byHash.stdout, /^history\n {2}20\S+ stored, attempt 0: hidden-states\//m)
  assert.equal(JSON.parse(byStart.stdout).hash, hashes[5])
})

test('explain: the plan is what the configuration says now, not as the run began', async () => {
  const { path } = run.copy('changed')
  const stored = join(path, 'run.json')
  const begun = JSON.parse(readFileSync(stored, 'utf8'))
  const before = { ...begun.plan, maxTokens: 1, tokenBudget: 1 }
  writeFileSync(stored, JSON.stringify({ ...begun, plan: before }))
  run.copy('same')
  const narrow = writeConfig(dir, 'changed', { extract: { maxTokens: 1 } })
  const asJson = async (config: string) =>
    JSON.parse((await explain('5', '--config', config, '--json')).stdout)
  const tooLong = await asJson(narrow)
  const [now, same] = [await asJson(run.configFor('changed')), await asJson(run.configFor('same'))]
  assert.deepEqual([now.state, now.skipped], ['stored', null])
  assert.equal(now.local.batch.id, same.local.batch.id)
  // Taken while the limits were wider.
  assert.deepEqual([tooLong.state, tooLong.hash], ['stored', hashes[5]])
  assert.match(tooLong.skipped, /too long|maxTokens/)
})

test('explain: quarantined, lost, spooled, and an object that has gone', async () => {
  const { path, url } = run.copy('others')
  const config = run.configFor('others')
  const nothing = { key: null, offset: 0, length: 0, crc32: 0, tokens: 3 } as const
  const unknown = 'ab'.repeat(16)
  await tellIn(url, [
    {
      ...nothing,
      hash: hashes[1],
      status: 'lost',
      reason: 'its object is not there',
      attempt: 256,
    },
    { ...nothing, hash: unknown, status: 'quarantined', reason: 'not finite', attempt: 2 },
  ])
  const gone = filesBelow(path).find((file) => file.includes(hashes[3])) ?? ''
  rmSync(join(path, gone))
  const bytes = Buffer.from('a finished file')
  const spool = await openSpool(join(dir, 'others', 'work', 'spool'))
  const sample = { hash: hashes[1], tokens: 3, bytes: bytes.length, crc32: crc32(bytes) }

  const lost = await explain('1', '--config', config)
  assert.match(lost.stdout, /: lost\n {2}its object is not there\n {2}the next run extracts it/)
  await spool.add({ ...sample, parts: [bytes] })
  const [spooled, quarantined, missing, nobody] = await Promise.all([
    explain('1', '--config', config, '--json'),
    explain(unknown, '--store', url),
    explain('3', '--config', config),
    explain('cd'.repeat(16), '--store', url),
  ])
  const told = JSON.parse(spooled.stdout)
  assert.deepEqual([told.state, told.local.spooled.bytes], ['spooled', bytes.length])
  assert.deepEqual(
    told.history.map(({ entry }: { entry: { status: string } }) => entry.status),
    ['stored', 'lost'],
  )
  assert.match(quarantined.stdout, /: quarantined\n {2}it could not be computed: not finite\n/)
  assert.match(missing.stdout, /the object is not there; `verify --repair`/)
  assert.deepEqual([quarantined.code, missing.code, nobody.code], [0, 0, 1])
  assert.match(nobody.stdout, /: unknown\n/)
})

test('explain: what makes no sense is refused, with what would', async () => {
  const { url } = run.copy('refused')
  const cases: [string[], RegExp[]][] = [
    [['5'], [/want=one of --config and --store/]],
    [['5', '--store', url, '--config', run.configFor('refused')], [/want=one of/]],
    [['12', '--store', url], [/there is no such row. row=12, rows known=12/]],
    [['xyz', '--store', url], [/neither row nor hash. found=xyz/]],
    [['abcdef0123456789', '--store', url], [/prefix=abcdef0123456789, found=0/]],
  ]
  const refuse = async ([args, says]: (typeof cases)[number]) =>
    assertRefused(await explain(...args), { says })
  await Promise.all(cases.map(refuse))
})
