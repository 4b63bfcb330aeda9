import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { type FinishedRun, finishedRun } from '../../support/commands/finished-run.ts'
import {
  filesBelow,
  fileUrl,
  folder,
  goldenTarget,
  type JobSettings,
  listing,
} from '../../support/commands/golden-job.ts'

/** Commands on a store that holds a run already: whole, damaged, or another's. */

const dir = folder({ after })
let run: FinishedRun
before(async () => {
  run = await finishedRun(dir)
})

const copy = (name: string): string => run.copy(name).path

const segmentsOf = (store: string): string[] =>
  filesBelow(join(store, 'manifest', 'segments')).map((path) => `manifest/segments/${path}`)

test('run: a store of another run is refused, both values are named, nothing changes', async () => {
  const store = copy('other')
  const found = listing(store)
  const asRun = async (settings: JobSettings, says: RegExp[], name: string): Promise<void> => {
    const shared = { store: fileUrl(store), work: join(dir, 'other', name), ...settings }
    const ended = await draftsmith(['run', run.configFor(`other-${name}`, shared)], { dir })
    const remedy = /Use another prefix for this run/
    assertRefused(ended, { says: [/store belongs to another run. store=file:/, ...says, remedy] })
  }
  const layers = /layers: store=\[0,1,2,3,4\], now=\[0,2\]/
  await Promise.all([
    asRun({ target: { layers: [0, 2], captureFinal: true } }, [layers, /captureFinal: /], 'layers'),
    asRun({ extract: { dtype: 'bf16' } }, [/dtype: store="f32", now="bf16"/], 'dtype'),
    asRun(
      { target: { path: goldenTarget('qwen2_bias_bf16') } },
      [/target: store="[0-9a-f]{64}", now="[0-9a-f]{64}"/, /store="qwen3", now="qwen2"/],
      'target',
    ),
  ])
  assert.deepEqual(listing(store), found)
})

test('check: a store of another run is refused as well', async () => {
  const store = copy('checked')
  const found = listing(store)
  const path = run.configFor('checked', { extract: { dtype: 'f16' } })
  const { code, stdout } = await draftsmith(['check', path], { dir })
  assert.equal(code, 2)
  assert.match(stdout, /^WRONG {2}store: contents .*another run/m)
  assert.match(stdout, /dtype: store="f32", now="f16"/)
  assert.match(stdout, /^1 of \d+ is not in order/m)
  assert.deepEqual(listing(store), found)
})

test('run: a plan that changed is warned of, and the run goes on', async () => {
  copy('plan')
  const path = run.configFor('plan', { extract: { dtype: 'f32', tokenBudget: 128 } })
  const ended = await draftsmith(['run', path, '--json'], { dir })
  assert.equal(ended.code, 0, ended.stderr)
  assert.match(ended.stderr, /"change":"tokenBudget: store=64, now=128"/)
  const { extracted, rows } = JSON.parse(ended.stdout)
  assert.deepEqual([extracted.samples, rows.committed], [0, 12])
})

test('a damaged manifest is refused by name everywhere, and nothing changes', async () => {
  for (const [name, damage, says] of [
    ['flipped', flip, /manifest file is damaged. key=manifest\/segments\//],
    ['hole', removeFirst, /manifest.*(lacks|missing|is not there|gap)/],
  ] as const) {
    const store = copy(name)
    const key = segmentsOf(store)[0]
    damage(join(store, key))
    const found = withoutConfig(listing(store))
    const path = run.configFor(name)
    const [ran, checked, verified] = await Promise.all([
      draftsmith(['run', path, '--json'], { dir }),
      draftsmith(['check', path], { dir }),
      draftsmith(['verify', fileUrl(store)], { dir }),
    ])
    const args = ['resume', fileUrl(store), '--work', `${name}-resumed`, '--json']
    const resumed = await draftsmith(args, { dir })
    for (const ended of [ran, resumed]) {
      assert.equal(ended.code, 2, ended.stderr)
      const { reason, remedy, extracted } = JSON.parse(ended.stdout)
      assert.match(reason, says)
      assert.ok(reason.includes(key), reason)
      assert.match(remedy, /Restore this object/)
      assert.equal(extracted, null)
      assert.ok(ended.stderr.includes(key))
      assertReadable(ended)
    }
    assertRefused(verified, { says: [says, /Restore this object/] })
    assert.equal(checked.code, 2)
    assert.match(checked.stdout, /^WRONG {2}store/m)
    assert.ok(checked.stdout.includes(key), checked.stdout)
    assert.deepEqual(withoutConfig(listing(store)), found)
  }
})

/** The configuration is that of the last start, with the paths of its machine. */
function withoutConfig(found: Readonly<Record<string, string>>): Record<string, string> {
  const { 'config.yaml': _, ...rest } = found
  return rest
}

function flip(path: string): void {
  const bytes = readFileSync(path)
  bytes[Math.floor(bytes.length / 2)] ^= 1
  writeFileSync(path, bytes)
}

const removeFirst = (path: string): void => rmSync(path)

test('verify: code 0 where all is there; code 1 and the keys where it is not', async () => {
  const store = copy('verified')
  const url = fileUrl(store)
  const good = await draftsmith(['verify', url], { dir })
  assert.deepEqual([good.code, good.stderr], [0, ''])
  assert.match(good.stdout, /^Verified: all 12 samples of the manifest are in file:\/\//)

  const [lost, short, twin] = filesBelow(join(store, 'hidden-states'))
  cpSync(join(store, 'hidden-states', twin), join(store, 'hidden-states', 'extra.safetensors'))
  const extra = await draftsmith(['verify', url, '--json'], { dir })
  assert.equal(extra.code, 0)
  const { heads, ...told } = JSON.parse(extra.stdout)
  const counts = { stored: 12, quarantined: 0, lost: 0, unnamed: 1, read: 0, repaired: 0 }
  assert.deepEqual(told, { store: url, ...counts, differ: [], checkpoint: null })
  assert.equal(heads.asked, 12)

  rmSync(join(store, 'hidden-states', lost))
  truncateSync(join(store, 'hidden-states', short), 1000)
  const [text, json] = await Promise.all([
    draftsmith(['verify', url], { dir }),
    draftsmith(['verify', url, '--json'], { dir }),
  ])
  assert.equal(text.code, 1)
  assert.ok(text.stdout.includes(`hidden-states/${lost}: is not there\n`))
  assert.match(
    text.stdout,
    new RegExp(`^hidden-states/${short}: size: want=\\d+, found=1000$`, 'm'),
  )
  assert.match(text.stdout, /^2 of 12 samples differ/m)
  assertReadable(text)
  assert.equal(json.code, 1)
  const { differ } = JSON.parse(json.stdout)
  assert.deepEqual(
    new Set(differ.map(({ key }: { key: string }) => key)),
    new Set([`hidden-states/${lost}`, `hidden-states/${short}`]),
  )
})

test('resume: what the store lacks, and a target that is another, are told first', async () => {
  const without = (name: string, path: string): string => {
    const store = copy(name)
    rmSync(join(store, path), { recursive: true })
    return fileUrl(store)
  }
  const torn = copy('torn-run')
  writeFileSync(join(torn, 'run.json'), '{"format":1}')
  const index = copy('torn-index')
  writeFileSync(join(index, 'dataset', 'index.json'), '{}')
  const moved = copy('moved')
  const stored = readFileSync(join(moved, 'run.json'), 'utf8')
  writeFileSync(join(moved, 'run.json'), stored.replace(goldenTarget(), '/nowhere/model'))
  const qwen2 = goldenTarget('qwen2_bias_bf16')
  const cases: [string, string, string[], RegExp[]][] = [
    ['nothing', fileUrl(dir, 'nothing'), [], [/holds no run. store=file:/, /Name the store/]],
    ['config', without('no-config', 'config.yaml'), [], [/no config.yaml/, /Run once more/]],
    ['dataset', without('no-dataset', 'dataset'), [], [/holds no dataset/, /run it once more/]],
    ['run', fileUrl(torn), [], [/run.json cannot be read.*id: /, /Restore run.json from an older/]],
    ['index', fileUrl(index), [], [/index cannot be read.*key=dataset\/index.json/, /Restore it/]],
    ['moved', fileUrl(moved), [], [/target is not there. path=\/nowhere\/model/, /--target/]],
    ['target', fileUrl(run.path), ['--target', qwen2], [/another run/, /"qwen3", now="qwen2"/]],
  ]
  const found = listing(run.path)
  const refuse = async ([name, url, args, says]: (typeof cases)[number]): Promise<void> => {
    const work = join(dir, `resume-${name}`)
    assertRefused(await draftsmith(['resume', url, '--work', work, ...args], { dir }), { says })
    assert.deepEqual(filesBelow(work), [])
  }
  await Promise.all(cases.map(refuse))
  assert.deepEqual(listing(run.path), found)
})

test('resume: a machine that has nothing gets the dataset, and finds all done', async () => {
  const store = copy('resumed')
  const ended = await draftsmith(['resume', fileUrl(store), '--work', 'fresh', '--json'], { dir })
  assert.equal(ended.code, 0, ended.stderr)
  const { rows, extracted, store: told } = JSON.parse(ended.stdout)
  assert.equal(told, fileUrl(store))
  assert.deepEqual([rows.rows, rows.committed, extracted.samples], [12, 12, 0])
  for (const line of ended.stderr.trimEnd().split('\n')) assert.ok(JSON.parse(line).msg)
  const sent = JSON.parse(readFileSync(join(store, 'dataset', 'index.json'), 'utf8')).files
  assert.deepEqual(
    readdirSync(join(dir, 'fresh', 'dataset')).sort(),
    sent.map(({ path }: { path: string }) => path).sort(),
  )
})
