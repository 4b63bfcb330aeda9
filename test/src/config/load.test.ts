import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { configForStore, loadConfig, parseConfig } from '../../../src/config/load.ts'
import { isFailure } from '../../../src/failure.ts'
import { scratch } from '../../support/target-run.ts'

const least = { store: 's3://bucket/run', dataset: { path: 'rows' }, target: { path: '/models/q' } }

const load = (config: unknown) =>
  parseConfig(JSON.stringify(config), { name: 'config.yaml', base: '/base' })

/** The faults of a configuration, a line each, without the first line. */
function faults(config: unknown): string[] {
  const text = typeof config === 'string' ? config : JSON.stringify(config)
  try {
    parseConfig(text, { name: 'config.yaml', base: '/base' })
  } catch (error) {
    assert.ok(isFailure(error, 'invalid'))
    const lines = error.message.split('\n').map((line) => line.trim())
    assert.match(lines[0] ?? '', new RegExp(`has ${lines.length - 1} faults?\\. file=config.yaml`))
    return lines.slice(1)
  }
  assert.fail('the configuration was accepted')
}

test('config: three keys will do; the rest has defaults', () => {
  const { config, warnings } = load(least)
  assert.deepEqual(warnings, [])
  assert.deepEqual(config.extract, {
    devices: ['cpu'],
    engine: 'onnxruntime',
    tokenBudget: 16_384,
    maxTokens: 8192,
    dtype: 'bf16',
    isolation: 'thread',
    limit: null,
  })
  assert.equal(config.upload.maxParallel, 100)
  assert.equal(config.upload.threads, null)
  assert.deepEqual(config.commit, { every: 1000, seconds: 10 })
  assert.deepEqual(config.dataset.columns, {
    inputIds: 'input_ids',
    lossMask: 'loss_mask',
    seqLen: 'seq_len',
  })
})

test('config: the example of the design is accepted whole', () => {
  const { config, warnings } = parseConfig(
    `
store: s3://bucket/prefix
s3: { endpoint: "https://s3.example", region: eu-west-1, pathStyle: true, checksums: when-required }
work: ./work
dataset:
  path: ./tokenized
  split: train
  columns: { inputIds: input_ids, lossMask: loss_mask, seqLen: seq_len }
target: { path: ./Qwen3-8B, layers: [1, 16, 31, 46, 61], captureFinal: false }
extract:
  { devices: [cuda:0, cuda:1], engine: onnxruntime, tokenBudget: 65536, maxTokens: 8192,
    dtype: bf16, isolation: thread, limit: null }
upload: { maxParallel: 100, threads: 2, attempts: 10, deadlineMinutes: 30 }
commit: { every: 1000, seconds: 10 }
spool: { keepFree: 150GB, maxBytes: 100GB }
train:
  { mode: offline, devices: [cuda:2, cuda:3], epochs: 6, lr: 6e-4, blockSize: 16, anchors: 512,
    checkpointMinutes: 30, queueBytes: 8GB, keepHiddenStates: false, isolation: thread }
monitor: { port: 8080, host: 127.0.0.1 }
notify: { url: null }
cluster: { url: null }
`,
    { name: 'config.yaml', base: '/base' },
  )
  assert.deepEqual(config.spool, { keepFree: 150e9, maxBytes: 100e9 })
  assert.equal(config.train?.queueBytes, 8e9)
  assert.equal(warnings.length, 3)
  assert.match(warnings[0] ?? '', /^monitor: this version does not act on it/)
})

test('config: a step smaller than its batch is raised to one, which is said', () => {
  const text = JSON.stringify({ ...least, train: { tokensPerStep: 512, tokensPerBatch: 1024 } })
  const { warnings } = parseConfig(text, { name: 'test', base: '/' })
  const sizes = /^train\.tokensPerStep: a step is of one batch at least\. tokensPerStep=512, token/
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', sizes)
  const batch = JSON.stringify({ ...least, train: { tokensPerStep: 1024, tokensPerBatch: 1024 } })
  assert.deepEqual(parseConfig(batch, { name: 'test', base: '/' }).warnings, [])
})

test('config: every fault is told at once, each with its path and what was wanted', () => {
  const found = faults({
    stor: 's3://bucket/run',
    dataset: { path: 'rows', colums: {} },
    target: { path: 7, layers: 'some' },
    extract: { devices: ['gpu0'], dtype: 'fp16', tokenBudget: 0 },
    upload: { maxParallel: 'many', threads: 65 },
    spool: { keepFree: '150 giga', maxBytes: true },
    train: { lr: 6, weightDecay: 2, epsilon: 1e-50, gamma: 1e-9, distill: { temperature: 0.001 } },
  })
  const wanted = [
    'stor: no such key. Nearest: store',
    'store: missing. want=string',
    'dataset.colums: no such key. Nearest: columns',
    'target.path: want=string, found=7',
    'target.layers: no layers. want=auto, or a list such as [1, 9, 17, 25, 33], found="some"',
    'extract.devices.0: no device. want=cpu, cuda:0, cuda:1, …, found="gpu0"',
    'extract.dtype: want=bf16 or f16 or f32, found="fp16". Nearest: f16',
    'upload.maxParallel: want=number, found="many"',
    'spool.keepFree: no size. want=such as 150GB or 64MiB, found="150 giga"',
    'spool.maxBytes: no size. want=such as 150GB or 64MiB, found=true',
  ]
  for (const line of wanted) assert.ok(found.includes(line), `${line}\nfound:\n${found.join('\n')}`)
  const counts = ['extract.tokenBudget: ', 'upload.threads: ']
  // A rate of 1 moves each parameter by 1 a step; what is added to a root must be there in float32.
  const more = ['train.gamma: ', 'train.distill.temperature: ']
  const sizes = ['train.lr: ', 'train.weightDecay: ', 'train.epsilon: ', ...more]
  for (const start of [...counts, ...sizes]) {
    assert.ok(found.some((line) => line.startsWith(start)))
  }
  assert.equal(found.length, wanted.length + 7)
})

test('config: a learning rate is more than 0, and not less than what it falls to', () => {
  const trained = (train: object) => faults({ ...least, train })
  for (const lr of [0, -0.001]) {
    assert.deepEqual(trained({ lr }), [`train.lr: no learning rate. want=more than 0, found=${lr}`])
  }
  assert.match(trained({ lr: 1e-4, minLr: 1e-3 })[0], /^train\.minLr: more than what it falls from/)
})

test('config: a name that resembles none is answered by all there are', () => {
  const [line] = faults({ ...least, commit: { everyThousandSamples: 1 } })
  assert.equal(line, 'commit.everyThousandSamples: no such key. Known: every, seconds')
})

test('config: text that is no YAML, no object or twice the same key is refused', () => {
  assert.match(faults('store: [')[0] ?? '', /./)
  assert.match(faults('just words')[0] ?? '', /^the configuration: want=object, found="just words"/)
  assert.match(faults('work: a\nwork: b')[0] ?? '', /unique/)
  assert.equal(faults('').filter((line) => line.includes('missing')).length, 3)
})

test('config: paths start from the file that names them; absolute ones stay', async (t) => {
  const dir = await scratch(t)
  const path = join(dir, 'config.yaml')
  await writeFile(path, 'store: file://./my store\ndataset: { path: ../d }\ntarget: { path: /q }\n')
  const { config } = loadConfig(path)
  assert.equal(config.dataset.path, join(dir, '..', 'd'))
  assert.equal(config.target.path, '/q')
  assert.equal(config.work, join(dir, 'work'))
  assert.equal(config.store, `file://${dir}/my%20store`)
  assert.equal(load({ ...least, store: 'file:///a/b%20c' }).config.store, 'file:///a/b%20c')
})

test('config: a file that is not there is named', () => {
  assert.throws(() => loadConfig('/nowhere/config.yaml'), {
    kind: 'invalid',
    message: /path=\/nowhere\/config.yaml/,
  })
})

test('config: credentials in a URL are refused, and not shown', () => {
  const found = faults({
    ...least,
    store: 's3://AKIA:hunter2@bucket/run',
    s3: { endpoint: 'https://user:hunter2@s3.example' },
  })
  assert.equal(found.length, 2)
  for (const line of found) {
    assert.match(line, /credentials in .*want=the AWS chain/)
    assert.doesNotMatch(line, /hunter2|AKIA|user/)
  }
})

test('config: what is kept in the store holds no secret, and loads again', () => {
  const { config } = load({
    ...least,
    work: '/local/work',
    notify: { url: 'https://hooks.example/T0/secret' },
    cluster: { url: 'nats://user:secret@hub' },
    upload: { maxParallel: 7 },
  })
  const kept = configForStore(config)
  assert.doesNotMatch(kept, /secret|local/)
  const again = load(parse(kept)).config
  const { notify: _notify, cluster: _cluster, ...rest } = config
  assert.deepEqual({ ...again, work: config.work }, rest)
})

test('config: aliases that lead nowhere, or unfold without end, are faults like others', () => {
  assert.match(faults('store: *elsewhere')[0] ?? '', /[Aa]lias.*elsewhere/)
  const nines = (name: string, of: string) => `${name}: &${name} [${Array(9).fill(of).join(', ')}]`
  const bomb = [nines('a', '1'), nines('b', '*a'), nines('c', '*b'), nines('d', '*c')].join('\n')
  assert.match(faults(bomb)[0] ?? '', /alias count/)
})

test('config: a path with a NUL is refused by its name', () => {
  const odd = {
    store: 's3://bucket/run',
    work: 'w\0',
    dataset: { path: '\0' },
    target: { path: 't' },
  }
  assert.deepEqual(
    faults(odd).map((fault) => fault.split(':')[0]),
    ['work', 'dataset.path'],
  )
})
