import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { configOf, weightsOf, writeShards } from '../../support/checkpoint.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import {
  filesBelow,
  fileUrl,
  folder,
  goldenTarget,
  type JobSettings,
  writeConfig,
} from '../../support/commands/golden-job.ts'
import { golden } from '../../support/golden.ts'

/** Input that a run refuses before it starts anything. */

interface Refusal {
  readonly name: string
  readonly settings: JobSettings
  readonly says: readonly RegExp[]
}

/** Each is refused with code 2 and these words; then there is no file but a log. */
async function assertEachRefused(dir: string, cases: readonly Refusal[]): Promise<void> {
  const refuse = async ({ name, settings, says }: Refusal): Promise<void> => {
    assertRefused(await draftsmith(['run', writeConfig(dir, name, settings)], { dir }), { says })
    const left = filesBelow(join(dir, name)).filter((path) => !path.startsWith('work/logs/'))
    assert.deepEqual(left, [], name)
  }
  for (let at = 0; at < cases.length; at += 3) {
    await Promise.all(cases.slice(at, at + 3).map(refuse))
  }
}

/** A copy of the golden target under the test's folder, to be damaged. */
function targetCopy(dir: string, name: string): string {
  const path = join(dir, name)
  cpSync(goldenTarget(), path, { recursive: true })
  return path
}

function withConfig(path: string, change: Readonly<Record<string, unknown>>): string {
  writeFileSync(join(path, 'config.json'), JSON.stringify({ ...configOf(path), ...change }))
  return path
}

test('run: a dataset that cannot be used is named, with what it has instead', async (t) => {
  const splits = golden('arrow', 'dataset_dict')
  await assertEachRefused(folder(t), [
    {
      name: 'missing',
      settings: { dataset: { path: '/nowhere/tokenized' } },
      says: [/there is no dataset here. path=\/nowhere\/tokenized/, /Check dataset.path/],
    },
    {
      name: 'columns',
      settings: { dataset: { columns: { inputIds: 'tokens', lossMask: 'mask' } } },
      says: [
        /no such column. file=.*data-00000-of-00002.arrow, want=tokens, found=input_ids loss_mask/,
        /under dataset.columns/,
      ],
    },
    {
      name: 'no-split',
      settings: { dataset: { path: splits } },
      says: [/has splits, and none is named.*dataset_dict, found=train validation test/],
    },
    {
      name: 'other-split',
      settings: { dataset: { path: splits, split: 'trian' } },
      says: [/no such split.*want=trian, found=train validation test/, /Nearest: train/],
    },
  ])
})

test('check: of a dataset with splits, the one that is named is looked at', async (t) => {
  const dir = folder(t)
  const dataset = { path: golden('arrow', 'dataset_dict'), split: 'train' }
  const { code, stdout } = await draftsmith(['check', writeConfig(dir, 'job', { dataset })], {
    dir,
  })
  // Its rows are of a larger vocabulary.
  assert.equal(code, 2)
  assert.match(
    stdout,
    /^WRONG {2}dataset .*rows=70, skipped: 69 token id beyond vocab.*, 1 empty$/m,
  )
})

test('run: a target that cannot be used is named, with what was wanted', async (t) => {
  const dir = folder(t)
  const truncated = targetCopy(dir, 'truncated')
  truncateSync(join(truncated, 'model.safetensors'), 500_000)
  const tensors = weightsOf(goldenTarget())
  const shards = await writeShards(join(dir, 'shards'), configOf(goldenTarget()), {
    tensors,
    count: 2,
  })
  truncateSync(join(shards, 'model-00002-of-00002.safetensors'), 100_000)
  const other = withConfig(targetCopy(dir, 'mamba'), { architectures: ['MambaForCausalLM'] })
  const narrow = withConfig(targetCopy(dir, 'narrow'), { head_dim: 24 })
  await assertEachRefused(dir, [
    {
      name: 'no-target',
      settings: { target: { path: '/nowhere/model' } },
      says: [/\/nowhere\/model/, /target.path/],
    },
    {
      name: 'truncated-checkpoint',
      settings: { target: { path: truncated } },
      says: [/file=.*truncated\/model.safetensors: file ends before/, /Download the checkpoint/],
    },
    {
      name: 'truncated-shard',
      settings: { target: { path: shards } },
      says: [
        /file=.*model-00002-of-00002.safetensors: file ends before/,
        /Download the checkpoint/,
      ],
    },
    {
      name: 'architecture',
      settings: { target: { path: other } },
      says: [
        /mamba\/config.json, want=one of LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM/,
        /found=MambaForCausalLM/,
        /Set target.path/,
      ],
    },
    {
      name: 'head-dim',
      settings: { target: { path: narrow } },
      says: [/narrow\/config.json.*head_dim=24 \(want a multiple of 16\)/, /Use a checkpoint/],
    },
    {
      name: 'layer-out-of-range',
      settings: { target: { layers: [0, 6] } },
      says: [/no layer 6. want=different ids from 0 to 5, found=\[0, 6\]/, /target.layers/],
    },
    {
      name: 'layer-twice',
      settings: { target: { layers: [0, 1, 1] } },
      says: [/layer 1 is named twice/, /target.layers/],
    },
    {
      name: 'too-shallow',
      settings: { target: { layers: 'auto' } },
      says: [/layers=6, want=5 different ids, found=\[1, 2, 2, 2, 3\]/, /target.layers/],
    },
  ])
})

test('run: a work folder or store that cannot be made is named; a file there stays', async (t) => {
  const dir = folder(t)
  const taken = join(dir, 'taken')
  writeFileSync(taken, 'mine')
  const folderRemedy = /Set work to a folder/
  const cases: Refusal[] = [
    {
      name: 'work-is-a-file',
      settings: { work: taken },
      says: [/work folder cannot be used. path=.*taken, stored=0: EEXIST/, folderRemedy],
    },
    {
      name: 'work-below-a-file',
      settings: { work: join(taken, 'below') },
      says: [/work folder cannot be used. path=.*taken\/below, stored=0: ENOTDIR/, folderRemedy],
    },
    {
      name: 'store-in-the-url-of-another-kind',
      settings: { store: 'http://bucket/prefix' },
      says: [/store: .*want=s3:\/\/bucket\/prefix or file:\/\/\/path, found="http:/],
    },
  ]
  // A file system that takes no folder from anybody, root among them.
  if (existsSync('/proc/self')) {
    const settings = { work: '/proc/draftsmith/work' }
    cases.push({ name: 'unwritable', settings, says: [/path=\/proc\/draftsmith/, folderRemedy] })
  }
  await assertEachRefused(dir, cases)
  const badStores: [string, RegExp[]][] = [
    [fileUrl(taken), [/a file is in the place of a folder. path=.*taken/, /Move that file away/]],
    ['s3://', [/names no bucket/, /Write file:\/\/\/path or s3:/]],
    ['s3://key:hushhush@bucket/x', [/credentials in a store's URL. want=the AWS chain/]],
  ]
  const refuse = async ([store, says]: [string, RegExp[]], index: number): Promise<void> => {
    const ended = await draftsmith(['run', writeConfig(dir, `store-${index}`, { store })], { dir })
    assertRefused(ended, { says })
    assert.doesNotMatch(ended.stderr, /hushhush/)
  }
  await Promise.all(badStores.map(refuse))
  assert.equal(readFileSync(taken, 'utf8'), 'mine')
})

test('check: all that is wrong is told at once, each with a remedy', async (t) => {
  const dir = folder(t)
  const taken = join(dir, 'taken')
  writeFileSync(taken, 'mine')
  const path = writeConfig(dir, 'job', {
    work: taken,
    store: fileUrl(taken),
    target: { path: withConfig(targetCopy(dir, 'mamba'), { architectures: ['Mamba'] }) },
    dataset: { columns: { inputIds: 'tokens' } },
  })
  const [text, json] = await Promise.all([
    draftsmith(['check', path], { dir }),
    draftsmith(['check', path, '--json'], { dir }),
  ])
  assert.equal(text.code, 2)
  assert.match(text.stdout, /^ok {5}configuration/m)
  for (const what of ['work folder', 'target', 'dataset', 'store']) {
    assert.match(text.stdout, new RegExp(`^WRONG  ${what} `, 'm'))
  }
  assert.match(text.stdout, /^4 of 5 are not in order\.$/m)
  assertReadable(text)
  assert.equal(json.code, 2)
  const { ok, findings } = JSON.parse(json.stdout)
  assert.equal(ok, false)
  const wrong = findings.filter((finding: { ok: boolean }) => !finding.ok)
  assert.deepEqual(
    wrong.map(({ what }: { what: string }) => what),
    ['work folder', 'target', 'dataset', 'store'],
  )
  for (const { remedy } of wrong) assert.match(remedy, /\w+/)
  assert.equal(readFileSync(taken, 'utf8'), 'mine')
})

test('check: where all is in order, it says so and leaves nothing in the store', async (t) => {
  const dir = folder(t)
  const train = { layers: 1, blockSize: 8 }
  const ended = await draftsmith(['check', writeConfig(dir, 'job', { train })], { dir })
  assert.equal(ended.code, 0, ended.stdout)
  assert.match(ended.stdout, /^ok {5}training +cpu: takes a step of a drafter of this kind/m)
  assert.equal(ended.stderr, '')
  assert.match(ended.stdout, /^ok {5}model +cpu: runs, takes \d/m)
  assert.match(ended.stdout, /^ok {5}dataset +12 rows, 12 usable of 146 tokens/m)
  assert.match(ended.stdout, /it holds no run yet$/m)
  assert.match(ended.stdout, /^Everything is in order\.$/m)
  assertReadable(ended)
  assert.equal(existsSync(join(dir, 'job', 'store')), false)
})
