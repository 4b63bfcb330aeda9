import assert from 'node:assert/strict'
import { cp, mkdir, open, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { hiddenStatesGraph } from '../../../src/models/hidden-states.ts'
import { openTarget } from '../../../src/models/target.ts'
import {
  configOf,
  retyped,
  weightsOf,
  writeCheckpoint,
  writeShards,
} from '../../support/checkpoint.ts'
import { golden } from '../../support/golden.ts'
import { needsShared } from '../../support/needs.ts'
import { openRun, scratch } from '../../support/target-run.ts'

const tiny = golden('targets', 'qwen3_tied_bf16')
const rows = [[1, 2, 3, 300, 5], [7]]

async function refuses(
  opened: Promise<unknown>,
  kind: 'invalid' | 'corrupt',
  ...words: readonly string[]
): Promise<void> {
  await assert.rejects(opened, (error) => {
    assert.ok(isFailure(error, kind), String(error))
    for (const word of words) assert.ok(error.message.includes(word), `${error.message}: ${word}`)
    return true
  })
}

const buildWith = async (dir: string) =>
  hiddenStatesGraph(await openTarget(dir), { layers: [1], captureFinal: false, dtype: 'bf16' })

/** A copy of the tiny checkpoint, to damage. */
async function copy(t: TestContext): Promise<string> {
  const dir = join(await scratch(t), 'target')
  await mkdir(dir)
  for (const name of ['config.json', 'model.safetensors'])
    await cp(join(tiny, name), join(dir, name))
  return dir
}

test('target: what config.json says of it', async () => {
  const { family, layers, hiddenSize, vocabSize } = await openTarget(tiny)
  assert.deepEqual([family, layers, hiddenSize, vocabSize], ['qwen3', 6, 64, 320])
})

test('target: one that is cut after it was opened has no fingerprint', async (t) => {
  const dir = await copy(t)
  const target = await openTarget(dir)
  await truncate(join(dir, 'model.safetensors'), target.weights.files[0].dataStart + 10)
  await refuses(target.fingerprint(), 'corrupt', 'file was cut while it was read')
})

test('target: sharded, widened or at odd offsets, its states are the same', async (t) => {
  const dir = await scratch(t)
  const tensors = weightsOf(tiny)
  const config = configOf(tiny)
  const wide = tensors.map((tensor) => retyped(tensor, 'F32'))
  const padded = await writeCheckpoint(join(dir, 'padded'), config, tensors)
  await padHeader(join(padded, 'model.safetensors'))
  const want = await (await openRun(t, tiny))(rows)
  for (const variant of [
    await writeShards(join(dir, 'sharded'), config, { tensors, count: 3 }),
    await writeShards(join(dir, 'wide-sharded'), config, { tensors: wide, count: 2 }),
    await writeCheckpoint(join(dir, 'wide'), config, wide),
    padded,
  ]) {
    assert.deepEqual(await (await openRun(t, variant))(rows), want, variant)
  }
})

test('target: float16 weights are read as what they are', async (t) => {
  const dir = await scratch(t)
  const half = weightsOf(tiny).map((tensor) => retyped(tensor, 'F16'))
  const wide = half.map((tensor) => retyped(tensor, 'F32'))
  const runs = await Promise.all([
    openRun(t, await writeCheckpoint(join(dir, 'half'), configOf(tiny), half)),
    openRun(t, await writeCheckpoint(join(dir, 'wide'), configOf(tiny), wide)),
  ])
  const [found, want] = await Promise.all(runs.map((run) => run(rows)))
  assert.deepEqual(found, want)
})

/** One more space in the header: legal, and every tensor then lies at an odd offset. */
async function padHeader(path: string): Promise<void> {
  const bytes = await readFile(path)
  const header = Number(bytes.readBigUInt64LE())
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header + 1))
  const rest = bytes.subarray(8 + header)
  await writeFile(
    path,
    Buffer.concat([length, bytes.subarray(8, 8 + header), Buffer.from(' '), rest]),
  )
}

test('target: a directory that is no checkpoint is named', async (t) => {
  const dir = await scratch(t)
  await refuses(openTarget(join(dir, 'absent')), 'invalid', join(dir, 'absent'))
  await writeFile(join(dir, 'config.json'), '{')
  await refuses(openTarget(dir), 'invalid', join(dir, 'config.json'), 'no JSON')
  await writeFile(join(dir, 'config.json'), JSON.stringify(configOf(tiny)))
  await refuses(openTarget(dir), 'invalid', dir, 'model.safetensors')
})

test('target: a truncated weights file is named', async (t) => {
  const dir = await copy(t)
  await truncate(join(dir, 'model.safetensors'), 300_000)
  await refuses(openTarget(dir), 'corrupt', join(dir, 'model.safetensors'))
})

test('target: a missing shard, a bad index, a tensor in the wrong shard are named', async (t) => {
  const dir = await scratch(t)
  const shards = { tensors: weightsOf(tiny), count: 3 }
  const index = join(dir, 'model.safetensors.index.json')
  await writeShards(dir, configOf(tiny), shards)
  const good = await readFile(index, 'utf8')
  await rm(join(dir, 'model-00002-of-00003.safetensors'))
  await refuses(openTarget(dir), 'invalid', join(dir, 'model-00002-of-00003.safetensors'))
  await writeShards(dir, configOf(tiny), shards)
  const { weight_map } = JSON.parse(good)
  const [first] = Object.keys(weight_map)
  for (const [place, word] of [
    ['../elsewhere.safetensors', index],
    ['/etc/model.safetensors', index],
    ['model-00002-of-00003.safetensors', first],
  ]) {
    await writeFile(index, JSON.stringify({ weight_map: { ...weight_map, [first]: place } }))
    await refuses(openTarget(dir), 'corrupt', word)
  }
  await writeFile(index, '{}')
  await refuses(openTarget(dir), 'corrupt', index)
})

test('target: a tensor missing or unfit is named, one too many not minded', async (t) => {
  const dir = await scratch(t)
  const config = configOf(tiny)
  const tensors = weightsOf(tiny)
  const name = 'model.layers.1.self_attn.q_norm.weight'
  const lacking = tensors.filter((tensor) => tensor.name !== name)
  await refuses(buildWith(await writeCheckpoint(join(dir, 'a'), config, lacking)), 'invalid', name)
  const bent = tensors.map((x) => (x.name === name ? { ...x, shape: [2, 16] } : x))
  const built = buildWith(await writeCheckpoint(join(dir, 'b'), config, bent))
  await refuses(built, 'invalid', name, 'want=F32, F16 or BF16 [32]', 'found=BF16 [2, 16]')
  const integer = tensors.map((x) => (x.name === name ? { ...x, dtype: 'I16' as const } : x))
  const other = buildWith(await writeCheckpoint(join(dir, 'c'), config, integer))
  await refuses(other, 'invalid', name, 'found=I16 [32]')
  const extra = { ...tensors[0], name: 'model.visual.patch_embed.weight' }
  assert.ok(await buildWith(await writeCheckpoint(join(dir, 'd'), config, [...tensors, extra])))
})

test('target: hybrid checkpoints are refused by name', async (t) => {
  for (const [name, found] of [
    ['qwen3_5_dense_bf16', 'Qwen3_5ForCausalLM'],
    ['qwen3_5_vl_wrapper_bf16', 'Qwen3_5ForConditionalGeneration'],
  ]) {
    const dir = needsShared(t, `reference/targets/${name}`)
    if (dir === undefined) return
    await refuses(openTarget(dir), 'invalid', `found=${found}`, 'Qwen3ForCausalLM')
  }
})

test('target: its fingerprint is of its content, wherever it lies', async (t) => {
  const prints = async (dir: string) => (await openTarget(dir)).fingerprint()
  const dir = await copy(t)
  const want = await prints(tiny)
  assert.match(want, /^[0-9a-f]{64}$/)
  assert.equal(await prints(dir), want)
  const file = await open(join(dir, 'model.safetensors'), 'r+')
  const { size } = await file.stat()
  await file.write(Buffer.of(0x55), 0, 1, size - 1)
  await file.close()
  assert.notEqual(await prints(dir), want)
  const other = await copy(t)
  await writeFile(join(other, 'config.json'), JSON.stringify(configOf(tiny)))
  assert.notEqual(await prints(other), want)
})
