import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import { isFailure } from '../../../src/failure.ts'
import { hiddenStatesGraph } from '../../../src/models/hidden-states.ts'
import { openTarget } from '../../../src/models/target.ts'
import { type Copied, prepareModel } from '../../../src/session/prepare.ts'
import { openSession } from '../../../src/session/session.ts'
import { configOf, weightsOf, writeCheckpoint, writeShards } from '../../support/checkpoint.ts'
import { golden } from '../../support/golden.ts'
import { scratch } from '../../support/target-run.ts'

const tiny = golden('targets', 'qwen3_tied_bf16')

async function graphOf(dir: string, layers = [1]) {
  const captures = { layers, captureFinal: false, dtype: 'f32' } as const
  return hiddenStatesGraph(await openTarget(dir), captures)
}

const noCopy = (copied: Copied) => assert.fail(`copied ${copied.path}`)

test('prepare: weights are linked, not copied, under their own names', async (t) => {
  const dir = await scratch(t)
  const source = await writeCheckpoint(join(dir, 'from'), configOf(tiny), weightsOf(tiny))
  const model = await prepareModel(await graphOf(source), join(dir, 'a', 'b'), noCopy)
  assert.deepEqual((await readdir(join(dir, 'a', 'b'))).sort(), ['model.onnx', 'model.safetensors'])
  const linked = await stat(join(dir, 'a', 'b', 'model.safetensors'))
  assert.equal(linked.ino, (await stat(join(source, 'model.safetensors'))).ino)
  assert.equal(model, join(dir, 'a', 'b', 'model.onnx'))
})

test('prepare: through the symlinks of a Hugging Face cache to the real files', async (t) => {
  const dir = await scratch(t)
  const tensors = weightsOf(tiny)
  const blobs = await writeShards(join(dir, 'blobs'), configOf(tiny), { tensors, count: 3 })
  const snapshot = join(dir, 'snapshot')
  await mkdir(snapshot)
  for (const name of await readdir(blobs)) {
    await symlink(join('..', 'blobs', name), join(snapshot, name))
  }
  const model = await prepareModel(await graphOf(snapshot), join(dir, 'model'), noCopy)
  const placed = await stat(join(dir, 'model', 'model-00001-of-00003.safetensors'))
  assert.equal(placed.ino, (await stat(join(blobs, 'model-00001-of-00003.safetensors'))).ino)
  const session = await openSession(model, { device: 'cpu', threads: 1 })
  await session.release()
})

test('prepare: a second time nothing changes; another graph replaces the first', async (t) => {
  const dir = await scratch(t)
  const source = await writeCheckpoint(join(dir, 'from'), configOf(tiny), weightsOf(tiny))
  const to = join(dir, 'model')
  const model = await prepareModel(await graphOf(source), to, noCopy)
  const before = await stat(model, { bigint: true })
  await prepareModel(await graphOf(source), to, noCopy)
  const after = await stat(model, { bigint: true })
  assert.deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs])
  const bytes = await readFile(model)
  await prepareModel(await graphOf(source, [2]), to, noCopy)
  assert.notDeepEqual(await readFile(model), bytes)
})

test('prepare: weights that were replaced at the source are linked anew', async (t) => {
  const dir = await scratch(t)
  const source = await writeCheckpoint(join(dir, 'from'), configOf(tiny), weightsOf(tiny))
  const to = join(dir, 'model')
  await prepareModel(await graphOf(source), to, noCopy)
  await rm(join(source, 'model.safetensors'))
  await writeCheckpoint(source, configOf(tiny), weightsOf(tiny))
  await prepareModel(await graphOf(source), to, noCopy)
  const placed = await stat(join(to, 'model.safetensors'))
  assert.equal(placed.ino, (await stat(join(source, 'model.safetensors'))).ino)
})

test('prepare: eight at once leave one whole model and no other file', async (t) => {
  const dir = await scratch(t)
  const source = await writeCheckpoint(join(dir, 'from'), configOf(tiny), weightsOf(tiny))
  const to = join(dir, 'model')
  const graph = await graphOf(source)
  const models = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const model = await prepareModel(graph, to, noCopy)
      const session = await openSession(model, { device: 'cpu', threads: 1 })
      await session.release()
      return model
    }),
  )
  assert.equal(new Set(models).size, 1)
  assert.deepEqual((await readdir(to)).sort(), ['model.onnx', 'model.safetensors'])
})

test('prepare: across filesystems weights are copied once, and it is said', async (t) => {
  const dir = await scratch(t)
  const memory = await stat('/dev/shm').catch(() => undefined)
  if (!memory || memory.dev === (await stat(dir)).dev) {
    return t.skip(`needs another filesystem than that of ${tmpdir()} at /dev/shm: not found`)
  }
  const there = await mkdtemp('/dev/shm/draftsmith-')
  t.after(() => rm(there, { recursive: true, force: true }))
  const source = await writeCheckpoint(join(dir, 'from'), configOf(tiny), weightsOf(tiny))
  const copied: Copied[] = []
  for (let i = 0; i < 2; i++) {
    const model = await prepareModel(await graphOf(source), there, (file) => copied.push(file))
    const session = await openSession(model, { device: 'cpu', threads: 1 })
    await session.release()
  }
  const { size } = await stat(join(source, 'model.safetensors'))
  assert.deepEqual(copied, [{ path: join(source, 'model.safetensors'), bytes: size }])
})

test('prepare: a file where the folder should be is named', async (t) => {
  const dir = await scratch(t)
  await writeFile(join(dir, 'taken'), '')
  const prepared = prepareModel(await graphOf(tiny), join(dir, 'taken'), () => {})
  await assert.rejects(prepared, (error) => {
    assert.ok(isFailure(error, 'invalid'))
    assert.ok(error.message.includes(join(dir, 'taken')))
    return true
  })
})

test('prepare: a copy that a dead start left is swept, one under way is not', async (t) => {
  const dir = await scratch(t)
  const source = await writeCheckpoint(join(dir, 'from'), configOf(tiny), weightsOf(tiny))
  const graph = await graphOf(source)
  const model = join(dir, 'model')
  await mkdir(model)
  await writeFile(join(model, 'model.safetensors.0123456789ab.tmp'), 'half of it')
  await prepareModel(graph, model, noCopy)
  assert.equal((await readdir(model)).length, 3)
  await prepareModel(graph, model, noCopy, new SimulatedClock(Date.now() + 61_000))
  assert.deepEqual((await readdir(model)).sort(), ['model.onnx', 'model.safetensors'])
})
