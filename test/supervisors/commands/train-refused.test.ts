import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { encodeSafetensors, type TensorToWrite } from '../../../src/safetensors/write.ts'
import type { Job } from '../../../supervisors/drills/rig/job.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { filesBelow } from '../../support/commands/golden-job.ts'
import { layOutJob } from '../../support/crash/job.ts'

/** What cannot be trained on, or gone on from: told once, before the first step. */

const train = {
  ...{ epochs: 1, layers: 1, blockSize: 4, anchors: 4, lr: 1e-3, heldOut: 0.1 },
  ...{ tokensPerStep: 256, tokensPerBatch: 256 },
}

/** Writes the parameters of a checkpoint anew, with the sizes and sums that belong to them. */
function rewrite(dir: string, change: (tensors: TensorToWrite[]) => TensorToWrite[]): void {
  const [path, statePath] = [join(dir, 'model.safetensors'), join(dir, 'state.json')]
  const tensors = [...readSafetensors(readFileSync(path), path).tensors].map(([name, tensor]) => ({
    ...tensor,
    name,
    data: Uint8Array.from(tensor.data),
  }))
  const bytes = Buffer.concat(encodeSafetensors(change(tensors)))
  writeFileSync(path, bytes)
  const state = JSON.parse(readFileSync(statePath, 'utf8'))
  state.files.model = { bytes: bytes.length, crc32: crc32(bytes) }
  writeFileSync(statePath, JSON.stringify(state))
}

const notANumber = ([first, ...more]: TensorToWrite[]): TensorToWrite[] => {
  const elements = first.shape.reduce((product, length) => product * length, 1)
  const values = new Float32Array(elements).fill(Number.NaN, 0, 1)
  return [{ ...first, data: new Uint8Array(values.buffer) }, ...more]
}
const extra: TensorToWrite = {
  name: 'layers.7.odd',
  dtype: 'F32',
  shape: [1],
  data: Buffer.alloc(4),
}

const checkpointOf = ({ storeUrl }: Job): string => {
  const folder = fileURLToPath(`${storeUrl}/checkpoints`)
  const names = readdirSync(folder).filter((name) => /^\d/.test(name))
  return join(folder, names.sort()[names.length - 1])
}

/** A job that is trained to its end, and `train` on it with other settings or arguments. */
async function trainedJob(t: TestContext) {
  const job = await layOutJob(t, { rows: 20, tokens: { min: 20, max: 40 }, train })
  const first = await start(t, ['run', job.config], job).ended()
  assert.equal(first.code, 0, first.stderr)
  const config = JSON.parse(readFileSync(job.config, 'utf8'))
  const ends = async (
    code: number,
    words: readonly string[],
    { changed = {}, args = [] }: { readonly changed?: object; readonly args?: readonly string[] },
  ): Promise<void> => {
    writeFileSync(job.config, JSON.stringify({ ...config, train: { ...train, ...changed } }))
    const ended = await start(t, ['train', job.config, ...args], job).ended()
    assert.equal(ended.code, code, ended.stderr)
    for (const word of words) assert.ok(ended.stderr.includes(word), `${word} in ${ended.stderr}`)
    assert.ok(!ended.stderr.includes('"msg":"restarting"'), ended.stderr)
  }
  return { job, ends }
}

const stepOf = (checkpoint: string): number => Number.parseInt(basename(checkpoint), 10)

/** Every file of the store with its bytes, but for what each start puts there for itself. */
function storeOf({ storeUrl }: Job): ReadonlyMap<string, string> {
  const folder = fileURLToPath(storeUrl)
  const files = filesBelow(folder).filter((path) => !path.startsWith('.draftsmith/'))
  return new Map(files.map((path) => [path, readFileSync(join(folder, path)).toString('base64')]))
}

test('train: a setting that makes another training is refused, with both values', async (t) => {
  const { job, ends } = await trainedJob(t)
  const before = storeOf(job)
  const refusals = {
    blockSize: [4, 8],
    tokensPerBatch: [256, 128],
    heldOut: [0.1, 0.2],
  }
  for (const [name, [was, is]] of Object.entries(refusals)) {
    const line = `train.${name}: training=${was}, now=${is}`
    await ends(2, [line, 'train --new'], { changed: { [name]: is } })
    const checked = await start(t, ['check', job.config, '--json'], job).ended()
    assert.equal(checked.code, 2, checked.stderr)
    const { findings } = JSON.parse(checked.stdout)
    const wrong = findings.filter(({ ok }: { ok: boolean }) => !ok)
    assert.deepEqual(
      wrong.map(({ what }: { what: string }) => what),
      ['store: training'],
    )
    assert.ok(wrong[0].found.includes(line), wrong[0].found)
  }
  assert.deepEqual(storeOf(job), before)
})

test('train: a setting that changes what follows is told, with both values', async (t) => {
  const { job, ends } = await trainedJob(t)
  const before = stepOf(checkpointOf(job))
  const changed = { lr: 2e-3, anchors: 3, epochs: 2 }
  const line = (name: 'lr' | 'anchors' | 'epochs') =>
    `train.${name}: training=${train[name]}, now=${changed[name]}`
  await ends(0, [line('lr'), line('anchors'), line('epochs')], { changed })
  assert.ok(stepOf(checkpointOf(job)) > before)
})

test('train: what is no checkpoint to go on from is refused before anything is put', async (t) => {
  const { job, ends } = await trainedJob(t)
  const before = storeOf(job)
  const there = basename(checkpointOf(job))
  for (const name of ['../../run.json', 'latest.json', '']) {
    const says = ['the store has no such checkpoint', `found=`, there, 'Name a folder below']
    // Its configuration is another: that is not put either.
    await ends(2, says, { args: ['--from', name], changed: { lr: 5e-3 } })
  }
  const finished = ['is finished', 'train.epochs=1', 'Raise train.epochs']
  await ends(2, finished, { args: ['--from', there], changed: { lr: 5e-3 } })
  assert.deepEqual(storeOf(job), before)
  await ends(0, ['"training":'], { args: ['--from', there], changed: { epochs: 2 } })
})

test('train: what a checkpoint holds that is not its drafter’s is told once', async (t) => {
  const { job, ends } = await trainedJob(t)
  const checkpoint = checkpointOf(job)
  cpSync(checkpoint, join(job.dir, 'kept'), { recursive: true })
  const changes = [
    { change: notANumber, words: ['NaN or infinity', 'tensors=fc.weight'] },
    {
      change: (all: TensorToWrite[]) => all.slice(1),
      words: ['model.safetensors lacks fc.weight'],
    },
    {
      change: (all: TensorToWrite[]) => [...all, extra],
      words: ['model.safetensors has layers.7'],
    },
  ]
  for (const { change, words } of changes) {
    rewrite(checkpoint, change)
    await ends(2, words, {})
    rmSync(checkpoint, { recursive: true })
    cpSync(join(job.dir, 'kept'), checkpoint, { recursive: true })
  }
})

/** An embedding so large that no float32 holds the squares of what is learnt from it. */
function makeHuge({ target }: Job): void {
  const path = join(target, 'model.safetensors')
  const tensors = [...readSafetensors(readFileSync(path), path).tensors].map(([name, tensor]) => {
    const data = Uint8Array.from(tensor.data)
    const values = new Uint16Array(data.buffer)
    if (name.includes('embed_tokens')) for (const i of values.keys()) values[i] += 60 << 7
    return { ...tensor, name, data }
  })
  writeFileSync(path, Buffer.concat(encodeSafetensors(tensors)))
}

test('train: steps in a row that are not finite end it, once, with their rows', async (t) => {
  const endless = { ...train, epochs: 40, warmup: 0, skipsMax: 2 }
  const job = await layOutJob(t, { rows: 20, tokens: { min: 20, max: 40 }, train: endless })
  makeHuge(job)
  const { code, stderr } = await start(t, ['run', job.config], job).ended()
  assert.equal(code, 4, stderr)
  assert.match(stderr, /2 steps in a row were not finite\. step=\d+, rows=[0-9a-f]{32}/)
  assert.ok(!stderr.includes('"msg":"restarting"'), stderr)
})
