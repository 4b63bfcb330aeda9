import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { parse } from 'yaml'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { writeDataset } from '../../../src/dataset/write.ts'
import { float32ToBfloat16 } from '../../../src/tensor/bfloat16.ts'
import { elements } from '../../../src/tensor/tensor.ts'
import { credentials, type S3Process, startS3 } from '../../../supervisors/drills/rig/s3-process.ts'
import { assertReadable, draftsmith, type Ended } from '../../support/commands/draftsmith.ts'
import {
  filesBelow,
  folder,
  goldenDataset,
  goldenTarget,
  type JobSettings,
  writeConfig,
} from '../../support/commands/golden-job.ts'
import {
  type GoldenRow,
  hidden,
  llamaRows,
  qwen3Rows,
  tensorOf,
} from '../../support/commands/golden-rows.ts'
import {
  readObjects,
  type Sample,
  type StoredObjects,
} from '../../support/commands/stored-samples.ts'
import { maxAbsDiff } from '../../support/target-run.ts'

/**
 * Two targets, each as f32 and as bf16, on two stores, through the command line; against what
 * transformers made of the same rows.
 */

/** Of f32, as the whole project promises it. */
const tolerance = 2e-4

interface Finished extends StoredObjects {
  readonly name: string
  readonly ended: Ended
}

const dir = folder({ after })
let s3: S3Process
let qwen3: { readonly f32: Finished; readonly bf16: Finished }
let llama: { readonly f32: Finished; readonly bf16: Finished }

before(async () => {
  s3 = await startS3({ after })
  const prompts = join(dir, 'prompts')
  mkdirSync(prompts)
  const rows = llamaRows().map(({ ids }) => ({
    inputIds: ids,
    lossMask: new Uint8Array(ids.length).fill(1),
  }))
  await writeDataset(prompts, { rows, count: rows.length, shards: 1 })
  const llamaSettings = {
    dataset: { path: prompts },
    target: { path: goldenTarget('llama_rope3_bf16'), layers: [0, 2, 4], captureFinal: true },
  }
  const inS3 = (name: string) => ({
    store: `s3://draftsmith/${name}`,
    s3: { endpoint: s3.endpoint },
  })
  const asBf16 = { extract: { dtype: 'bf16' } }
  const [f32, bf16] = await Promise.all([
    runFromElsewhere(),
    run('qwen3', { ...inS3('q'), ...asBf16 }),
  ])
  qwen3 = { f32, bf16 }
  const [llamaF32, llamaBf16] = await Promise.all([
    run('llama-f32', { ...llamaSettings, ...inS3('llama') }),
    run('llama-bf16', { ...llamaSettings, ...asBf16 }),
  ])
  llama = { f32: llamaF32, bf16: llamaBf16 }
})

async function run(name: string, settings: JobSettings): Promise<Finished> {
  const config = writeConfig(dir, name, settings)
  const ended = await draftsmith(['run', config, '--json'], { dir, env: credentials })
  const store = settings.store ?? `file://${join(dir, name, 'store')}`
  return { name, ended, ...(await readObjects(store, settings.s3)) }
}

/** Paths are relative to the configuration's folder, whatever folder the command runs in. */
async function runFromElsewhere(): Promise<Finished> {
  const home = join(dir, 'relative', 'conf')
  const elsewhere = join(dir, 'elsewhere')
  mkdirSync(elsewhere, { recursive: true })
  writeConfig(home, 'job', {
    store: 'file://./store',
    work: './work',
    dataset: { path: relative(home, goldenDataset) },
    target: { path: relative(home, goldenTarget()) },
    monitor: { port: 8080 },
  })
  const args = ['run', join('..', 'relative', 'conf', 'job.json'), '--json']
  const ended = await draftsmith(args, { dir: elsewhere, env: credentials })
  return { name: 'relative', ended, ...(await readObjects(`file://${join(home, 'store')}`)) }
}

function sampleOf({ samples }: StoredObjects, { ids }: GoldenRow): Sample {
  const sample = samples.get(contentHash(ids).toString('hex'))
  assert.ok(sample, `no sample of [${ids}]`)
  return sample
}

const jobs = () =>
  [
    { ...qwen3, rows: qwen3Rows(), captures: 'layer_0,layer_1,layer_2,layer_3,layer_4' },
    { ...llama, rows: llamaRows(), captures: 'layer_0,layer_2,layer_4,final' },
  ] as const

test('run: ends with code 0, every row committed, one JSON document on stdout', () => {
  for (const { f32, bf16, rows } of jobs()) {
    for (const { name, ended, samples } of [f32, bf16]) {
      assert.equal(ended.code, 0, `${name}\n${ended.stderr}`)
      const told = JSON.parse(ended.stdout)
      assert.deepEqual([told.rows.rows, told.rows.committed], [rows.length, rows.length])
      assert.deepEqual([told.extracted.samples, told.stored.samples], [rows.length, rows.length])
      assert.equal(samples.size, rows.length)
      for (const line of ended.stderr.trimEnd().split('\n')) assert.ok(JSON.parse(line).msg)
      assertReadable(ended)
    }
  }
  assert.match(qwen3.f32.ended.stderr, /monitor: this version does not act on it/)
})

test('run: stored f32 states are those of transformers, for every row of two targets', () => {
  for (const { f32, rows, captures } of jobs()) {
    for (const row of rows) {
      const { tensors, metadata, key, bytes } = sampleOf(f32, row)
      const states = tensorOf(tensors, 'hidden_states')
      assert.equal(states.dtype, 'F32')
      assert.deepEqual(states.shape, [row.ids.length, captures.split(',').length, hidden])
      const worst = maxAbsDiff(elements(states, 'F32'), row.states)
      assert.ok(worst <= tolerance, `${key}: ${worst}`)
      const ids = tensorOf(tensors, 'token_ids')
      assert.deepEqual(ids.shape, [row.ids.length])
      assert.deepEqual(Array.from(elements(ids, 'I64'), Number), [...row.ids])
      assert.equal(metadata.get('captures'), captures)
      assert.match(metadata.get('target') ?? '', /^[0-9a-f]{64}$/)
      assert.ok(key.endsWith(`-${crc32(bytes).toString(16).padStart(8, '0')}.safetensors`))
    }
  }
})

test('run: stored bf16 states are the f32 ones, rounded to nearest even', () => {
  for (const { f32, bf16, rows } of jobs()) {
    for (const row of rows) {
      const wide = elements(tensorOf(sampleOf(f32, row).tensors, 'hidden_states'), 'F32')
      const narrow = tensorOf(sampleOf(bf16, row).tensors, 'hidden_states')
      assert.equal(narrow.dtype, 'BF16')
      assert.deepEqual(elements(narrow, 'BF16'), float32ToBfloat16(wide))
    }
  }
})

test('run: beside the samples the store holds what a new machine needs, and no lock', () => {
  for (const { objects } of [qwen3.f32, qwen3.bf16, llama.f32, llama.bf16]) {
    const others = [...objects.keys()].filter((key) => !key.startsWith('hidden-states/'))
    const writer = '\\d{8}t\\d{9}z-[0-9a-f]{12}'
    const manifest = `manifest/(written\\.json|segments/${writer}/\\d{8}\\.arrow)`
    const allowed = new RegExp(`^(run\\.json|config\\.yaml|dataset/.+|${manifest})$`)
    for (const key of others) assert.match(key, allowed)
    assert.ok(others.some((key) => key.startsWith('manifest/segments/')))

    const config = parse(text(objects, 'config.yaml'))
    for (const secret of ['work', 'notify']) assert.ok(!(secret in config), secret)
    const index = JSON.parse(text(objects, 'dataset/index.json'))
    for (const { path, bytes, crc32: sum } of index.files) {
      const file = objects.get(`dataset/${path}`)
      assert.equal(file?.length, bytes)
      assert.equal(file && crc32(file), sum)
    }
  }
  const run = JSON.parse(text(llama.f32.objects, 'run.json'))
  const { target, ...identity } = run.identity
  assert.match(target, /^[0-9a-f]{64}$/)
  assert.deepEqual(identity, {
    architecture: 'llama',
    layers: [0, 2, 4],
    hiddenSize: hidden,
    dtype: 'f32',
    captureFinal: true,
    quantization: 'none',
    truncation: 'none',
  })
  assert.equal(run.plan.tokenBudget, 64)
  assert.equal(run.targetPath, goldenTarget('llama_rope3_bf16'))
})

function text(objects: ReadonlyMap<string, Buffer>, key: string): string {
  const bytes = objects.get(key)
  assert.ok(bytes, `no ${key}`)
  return bytes.toString('utf8')
}

test('run: nothing that it wrote or said holds the secret key', () => {
  const secret = credentials.AWS_SECRET_ACCESS_KEY
  for (const path of filesBelow(dir)) {
    assert.ok(!readFileSync(join(dir, path)).includes(secret), path)
  }
  for (const { name, ended, objects } of [qwen3.f32, qwen3.bf16, llama.f32, llama.bf16]) {
    for (const [key, bytes] of objects) assert.ok(!bytes.includes(secret), `${name}: ${key}`)
    assert.ok(!`${ended.stdout}${ended.stderr}`.includes(secret), name)
  }
})
