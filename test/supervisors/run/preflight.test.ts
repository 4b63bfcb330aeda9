import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseConfig } from '../../../src/config/load.ts'
import { isFailure } from '../../../src/failure.ts'
import { spoolName } from '../../../src/spool/name.ts'
import { freeBytes } from '../../../src/spool/spool.ts'
import { extracting } from '../../../supervisors/job.ts'
import {
  prepare,
  requireFolder,
  requireRoom,
  threadsFor,
} from '../../../supervisors/run/preflight.ts'
import { golden } from '../../support/golden.ts'
import { rowsFolder } from '../../support/rows.ts'
import { scratch } from '../../support/target-run.ts'

const target = golden('targets', 'qwen3_tied_bf16')

async function configOf(t: TestContext, of: Record<string, unknown> = {}) {
  const config = {
    store: 's3://bucket/run',
    work: join(await scratch(t), 'work'),
    dataset: { path: await rowsFolder(t, [[1, 2, 3], [4]]) },
    target: { path: target, layers: [1, 2] },
    spool: { keepFree: 0, maxBytes: '1GB' },
    ...of,
  }
  return parseConfig(JSON.stringify(config), { name: 'test', base: '/' }).config
}

/** What a run with this configuration is refused for. */
async function refusal(t: TestContext, of: Record<string, unknown>): Promise<string> {
  try {
    await prepare(await configOf(t, of), extracting)
  } catch (error) {
    assert.ok(isFailure(error), String(error))
    assert.ok(error.remedy, 'a person is told what to do')
    return `${error.kind}: ${error.message}`
  }
  assert.fail('nothing was refused')
}

test('preflight: a run is its target, layers and type; its plan is as given', async (t) => {
  const extract = { dtype: 'f32', tokenBudget: 512, maxTokens: 128, limit: 1 }
  const prepared = await prepare(await configOf(t, { extract }), extracting)
  const { hiddenSize } = prepared.target
  assert.deepEqual(prepared.identity, {
    target: await prepared.target.fingerprint(),
    architecture: 'qwen3',
    layers: [1, 2],
    hiddenSize,
    dtype: 'f32',
    captureFinal: false,
    quantization: 'none',
    truncation: 'none',
  })
  const { outputBytesMax, ...plan } = prepared.plan
  assert.deepEqual(plan, { tokenBudget: 512, maxTokens: 128, limit: 1, seed: 0 })
  assert.ok(outputBytesMax > 1e9)
  assert.equal(prepared.outputBytesPerToken, 2 * hiddenSize * 4)
})

test('preflight: the final state is one capture more, in two bytes where so stored', async (t) => {
  const with3 = await configOf(t, { target: { path: target, layers: [1, 2], captureFinal: true } })
  const { outputBytesPerToken, target: opened } = await prepare(with3, extracting)
  assert.equal(outputBytesPerToken, 3 * opened.hiddenSize * 2)
})

test('preflight: a target, a dataset or a split that is not there is named', async (t) => {
  assert.match(await refusal(t, { target: { path: '/nowhere/q' } }), /^invalid: .*\/nowhere\/q/)
  assert.match(await refusal(t, { dataset: { path: '/nowhere/d' } }), /^invalid: .*\/nowhere\/d/)
  const path = golden('arrow', 'dataset_dict')
  assert.match(await refusal(t, { dataset: { path, split: 'tranig' } }), /^invalid: .*want=tranig/)
})

test('preflight: a dataset without the named columns, or without rows, is refused', async (t) => {
  const path = await rowsFolder(t, [[1, 2]])
  const columns = { inputIds: 'tokens' }
  assert.match(await refusal(t, { dataset: { path, columns } }), /^invalid: .*tokens/)
  const empty = await rowsFolder(t, [])
  assert.match(await refusal(t, { dataset: { path: empty } }), /^invalid: .*has no rows/)
})

test('preflight: layers that the target has not, or one twice, are refused', async (t) => {
  for (const layers of [
    [1, 99],
    [1, 1],
  ]) {
    assert.match(await refusal(t, { target: { path: target, layers } }), /^invalid: .*layer/)
  }
})

test('preflight: an architecture that is not supported is named, and those that are', async (t) => {
  const path = join(await scratch(t), 'target')
  await mkdir(path)
  const config = { model_type: 'gpt_neox', architectures: ['GPTNeoXForCausalLM'] }
  await writeFile(join(path, 'config.json'), JSON.stringify(config))
  const found = await refusal(t, { target: { path } })
  for (const name of ['GPTNeoX', 'Qwen3', 'Qwen2', 'Llama']) {
    assert.match(found, new RegExp(name, 'i'))
  }
})

test('preflight: a spool or a disk that cannot hold one batch is refused', async (t) => {
  const small = await refusal(t, { spool: { keepFree: 0, maxBytes: '1MB' } })
  assert.match(small, /^invalid: .*spool.maxBytes=1.0 MB, batch=\d/)
  const full = await refusal(t, { spool: { keepFree: '9000TB', maxBytes: '1GB' } })
  assert.match(full, /^invalid: .*free=.*spool.keepFree=9.0 PB.*batch=/)
})

test('preflight: a work folder is made; where a file has its name, it is refused', async (t) => {
  const dir = await scratch(t)
  requireFolder(join(dir, 'a', 'b'))
  requireFolder(join(dir, 'a', 'b'))
  await writeFile(join(dir, 'file'), '')
  for (const work of [join(dir, 'file'), join(dir, 'file', 'below')]) {
    assert.throws(() => requireFolder(work), { kind: 'invalid', message: new RegExp(work) })
  }
})

test('preflight: the cores are shared by the devices that compute on them', () => {
  const alone = threadsFor(['cpu'])
  assert.ok(alone >= 1)
  assert.equal(threadsFor(['cpu', 'cuda:0']), alone)
  assert.equal(threadsFor(['cpu', 'cpu']), Math.max(1, Math.floor(alone / 2)))
  assert.equal(threadsFor(Array.from({ length: 1000 }, () => 'cpu')), 1)
  assert.equal(threadsFor(['cuda:0', 'cuda:1']), alone)
})

test('preflight: what waits in the spool counts as room, for it is sent first', async (t) => {
  const work = await scratch(t)
  const roomFor = async (keepFree: number) => {
    const { config } = parseConfig(
      JSON.stringify({
        store: 'file:///store',
        work,
        dataset: { path: '/rows' },
        target: { path: '/target' },
        spool: { keepFree, maxBytes: 1e12 },
      }),
      { name: 'test', base: '/' },
    )
    await requireRoom(config, 1)
  }
  const keepFree = (await freeBytes(work)) + 1e9
  await assert.rejects(roomFor(keepFree), { kind: 'invalid', message: /too full.*spooled=0 B/ })
  const sample = { hash: '0'.repeat(32), tokens: 1, bytes: 5e9, crc32: 0 }
  await writeFile(join(work, 'spool', spoolName(sample)), '')
  await roomFor(keepFree)
})
