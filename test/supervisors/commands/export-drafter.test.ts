import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { systemClock } from '../../../src/clock.ts'
import type { DrafterToExport } from '../../../src/export/zlab.ts'
import { newWriterId } from '../../../src/manifest/names.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import { openDrafter } from '../../../src/models/drafter.ts'
import { drafterConfigJson } from '../../../src/models/drafter-config-json.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { openStore } from '../../../src/store/open.ts'
import { float32ToBfloat16 } from '../../../src/tensor/bfloat16.ts'
import { elements, float32Elements } from '../../../src/tensor/tensor.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { type FinishedRun, finishedRun } from '../../support/commands/finished-run.ts'
import { filesBelow, folder, listing } from '../../support/commands/golden-job.ts'
import { goldenDrafter } from '../../support/export/drafters.ts'
import { golden } from '../../support/golden.ts'

/** `export`: the drafter of a checkpoint, for whoever serves it. */

const dir = folder({ after })
let run: FinishedRun
before(async () => {
  run = await finishedRun(dir)
})

const exported = (url: string, out: string, ...more: string[]) =>
  draftsmith(['export', url, join(dir, out), ...more], { dir })

interface Save {
  readonly drafter: DrafterToExport
  readonly step: number
  readonly training?: string
  /** Milliseconds since the epoch. */
  readonly now?: number
}

/** As a training saves it. */
async function save(url: string, { drafter, step, training = 't1', now = step }: Save) {
  const progress = {
    ...{ training, step, samples: 10 * step, tokens: 1000 * step, heldOutLoss: 0.5, tau: 2.25 },
    drafter: { ...drafterConfigJson(drafter.config, 'float32') },
    target: { fingerprint: 'f' },
    ...{ schedule: null, data: null, random: null },
  }
  const tensors = drafter.tensors.map(({ name, shape, values }) => {
    const none = () => new Float32Array(values.length)
    return { name, shape: [...shape], value: Float32Array.from(values), m: none(), v: none() }
  })
  const writer = newWriterId(systemClock, Math.random)
  const maps = drafter.draftVocab ? { maps: drafter.draftVocab.maps() } : {}
  const state = { progress, tensors, ...maps }
  return await saveCheckpoint(await openStore(url), state, { writer, now })
}

/** Every weight is a multiple of the golden one's: which of two checkpoints it is can be told. */
const scaled = (name: string, factor: number): DrafterToExport => {
  const drafter = goldenDrafter(name)
  const tensors = drafter.tensors.map((tensor) => ({
    ...tensor,
    values: tensor.values.map((value) => value * factor),
  }))
  return { ...drafter, tensors }
}

function weightsIn(out: string) {
  const path = join(dir, out, 'model.safetensors')
  return readSafetensors(readFileSync(path), path).tensors
}

function assertHolds(out: string, drafter: DrafterToExport): void {
  const tensors = weightsIn(out)
  assert.equal(tensors.size, drafter.tensors.length)
  for (const { name, values } of drafter.tensors) {
    const found = tensors.get(name)
    assert.ok(found, name)
    assert.deepEqual(elements(found, 'BF16'), float32ToBfloat16(Float32Array.from(values)), name)
  }
}

test('export: the newest checkpoint in bfloat16, with its card; or the one of a step', async () => {
  const { url } = run.copy('two')
  const [early, late] = [scaled('drafter_b16', 1), scaled('drafter_b16', 2)]
  await save(url, { drafter: early, step: 900 })
  await save(url, { drafter: late, step: 10_000 })
  const ended = await exported(url, 'newest', '--json')
  assert.equal(ended.code, 0, ended.stderr)
  const told = JSON.parse(ended.stdout)
  assert.deepEqual([told.step, told.tau, told.written, told.warnings], [10_000, 2.25, true, []])
  assert.deepEqual(filesBelow(join(dir, 'newest')), [
    'README.md',
    'config.json',
    'model.safetensors',
  ])
  assertHolds('newest', late)
  assert.deepEqual((await openDrafter(join(dir, 'newest'))).config, late.config)
  const card = readFileSync(join(dir, 'newest', 'README.md'), 'utf8')
  assert.match(card, /# DFlash drafter for qwen3_tied_bf16/)
  assert.match(card, /10,000 steps, checkpoint `00010000-/)
  assert.match(card, /Acceptance length τ \| not measured/)
  assert.match(card, /Simulated τ \| 2.25/)
  assert.doesNotMatch(card, new RegExp(dir))

  const earlier = await exported(url, 'earlier', '--checkpoint', '900')
  assert.equal(earlier.code, 0, earlier.stderr)
  assert.match(earlier.stdout, /^The drafter of step 900 is exported to .* simulated τ 2.25\)$/m)
  assertReadable(earlier)
  assertHolds('earlier', early)

  const before = listing(join(dir, 'newest'))
  const again = await exported(url, 'newest')
  assert.match(again.stdout, /^The drafter of step 10000 was there already: /)
  assert.deepEqual(listing(join(dir, 'newest')), before)
  const other = await exported(url, 'newest', '--checkpoint', '900')
  assertRefused(other, { says: [/holds other content. .*found=README.md, model.safetensors/] })
  assert.deepEqual(listing(join(dir, 'newest')), before)
  const over = await exported(url, 'newest', '--checkpoint', '900', '--overwrite')
  assert.equal(over.code, 0, over.stderr)
  assertHolds('newest', early)
})

test('export: of a training begun anew its own newest, however far the first went', async () => {
  const { url } = run.copy('anew')
  const now = Date.UTC(2026, 0, 1)
  await save(url, { drafter: scaled('drafter_b8', 1), step: 500, training: 'before', now })
  const anew = scaled('drafter_b8', 2)
  await save(url, { drafter: anew, step: 20, training: 'anew', now: now + 1000 })
  const ended = await exported(url, 'anew-out')
  assert.equal(ended.code, 0, ended.stderr)
  assertHolds('anew-out', anew)
})

test('export: a checkpoint that is not whole is passed over, and named', async () => {
  const { path, url } = run.copy('torn')
  const whole = scaled('drafter_b8', 1)
  await save(url, { drafter: whole, step: 1 })
  const flipped = await save(url, { drafter: scaled('drafter_b8', 2), step: 2 })
  const cut = await save(url, { drafter: scaled('drafter_b8', 3), step: 3 })
  const model = (name: string) => join(path, ...fileKey(name, 'model').split('/'))
  const bytes = readFileSync(model(flipped.name))
  bytes[bytes.length - 1] ^= 1
  writeFileSync(model(flipped.name), bytes)
  writeFileSync(model(cut.name), bytes.subarray(1))
  const ended = await exported(url, 'torn-out')
  assert.equal(ended.code, 0, ended.stderr)
  assert.match(ended.stdout, /^The drafter of step 1 is exported/)
  for (const { name } of [flipped, cut]) assert.match(ended.stderr, new RegExp(name))
  assertHolds('torn-out', whole)

  const named = await exported(url, 'torn-2', '--checkpoint', '2')
  assertRefused(named, { says: [/no complete checkpoint to export. .*step=2, complete=2, 1/] })
  assert.deepEqual(filesBelow(join(dir, 'torn-2')), [])
})

test('export: no checkpoint, none of the step, other tensors: each is refused', async () => {
  const { url } = run.copy('none')
  assertRefused(await exported(url, 'none-out'), {
    says: [/no complete checkpoint to export. store=.*step=any, complete=none/, /Train first/],
  })
  const drafter = goldenDrafter('drafter_b8')
  const [first, ...rest] = drafter.tensors
  const renamed = [{ ...first, name: 'other.weight' }, ...rest]
  await save(url, { drafter: { ...drafter, tensors: renamed }, step: 7 })
  assertRefused(await exported(url, 'none-out', '--checkpoint', '8'), {
    says: [/step=8, complete=7/, /--checkpoint one of those/],
  })
  assertRefused(await exported(url, 'none-out'), {
    says: [new RegExp(`missing: ${first.name}; extra: other.weight`)],
  })
  assertRefused(await exported(`file://${join(dir, 'nothing')}`, 'none-out'), {
    says: [/holds no run/],
  })
  assert.deepEqual(filesBelow(join(dir, 'none-out')), [])
})

test('export: a draft vocabulary goes with it, and its rows of the head', async () => {
  const { url } = run.copy('vocab')
  const { config, ...drafter } = goldenDrafter('drafter_b8')
  const ids = Array.from({ length: 64 }, (_, i) => 5 * i)
  const draftVocab = new DraftVocab(ids, config.vocabSize)
  await save(url, {
    drafter: { ...drafter, config: { ...config, draftVocabSize: 64 }, draftVocab },
    step: 3,
  })
  const ended = await exported(url, 'vocab-out', '--dtype', 'f32', '--json')
  assert.equal(ended.code, 0, ended.stderr)
  assert.match(JSON.parse(ended.stdout).warnings.join(), /It drafts 64 of 320 tokens/)
  assert.deepEqual((await openDrafter(join(dir, 'vocab-out'))).draftVocab?.ids, ids)
  const head = weightsIn('vocab-out').get('lm_head.weight')
  const path = golden('targets', 'qwen3_tied_bf16', 'model.safetensors')
  const embedding = readSafetensors(readFileSync(path), path).tensors.get(
    'model.embed_tokens.weight',
  )
  assert.ok(head && embedding)
  const rows = draftVocab.rowsOf(float32Elements(embedding))
  assert.deepEqual(elements(head, 'F32'), rows)
})

test('export: a sliding drafter comes with its warning; other things stay', async () => {
  const { url } = run.copy('sliding')
  await save(url, { drafter: goldenDrafter('drafter_b8_sliding'), step: 3 })
  mkdirSync(join(dir, 'mine'))
  writeFileSync(join(dir, 'mine', 'notes.txt'), 'mine')
  assertRefused(await exported(url, 'mine'), { says: [/other content. .*found=notes.txt/] })
  const ended = await exported(url, 'mine', '--overwrite', '--dtype', 'f32', '--json')
  assert.equal(ended.code, 0, ended.stderr)
  const { warnings } = JSON.parse(ended.stdout)
  assert.match(warnings.join(), /z-lab’s Transformers code ignores the window/)
  assert.match(ended.stderr, /ignores the window/)
  assert.equal(readFileSync(join(dir, 'mine', 'notes.txt'), 'utf8'), 'mine')
  assert.equal(weightsIn('mine').get('norm.weight')?.dtype, 'F32')
})
