import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { encodeSafetensors, type TensorToWrite } from '../../../src/safetensors/write.ts'
import { type Job, layOutJob } from '../../support/crash/job.ts'
import { start } from '../../support/crash/process.ts'

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

test('train: what a checkpoint is not of, or holds, is told once and nothing hangs', async (t) => {
  const job = await layOutJob(t, { rows: 20, tokens: { min: 20, max: 40 }, train })
  const first = await start(t, ['run', job.config], job).ended()
  assert.equal(first.code, 0, first.stderr)
  const config = JSON.parse(readFileSync(job.config, 'utf8'))
  const fails = async (code: number, words: readonly string[], changed: object = {}) => {
    writeFileSync(job.config, JSON.stringify({ ...config, train: { ...train, ...changed } }))
    const ended = await start(t, ['train', job.config], job).ended()
    assert.equal(ended.code, code, ended.stderr)
    for (const word of words) assert.ok(ended.stderr.includes(word), `${word} in ${ended.stderr}`)
    assert.ok(!ended.stderr.includes('"msg":"restarting"'), ended.stderr)
  }
  await fails(2, ['drafter.block_size: checkpoint=4, now=8'], { blockSize: 8 })
  await fails(2, ['drafter.num_hidden_layers: checkpoint=1, now=2'], { layers: 2 })

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
    await fails(4, words)
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
