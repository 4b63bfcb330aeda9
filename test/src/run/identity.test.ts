import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { parseRun, requireSameIdentity } from '../../../src/run/identity.ts'
import { claimStore, readRun } from '../../../src/run/stored-run.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Body, PutOptions } from '../../../src/store/store.ts'

const wanted = {
  identity: {
    target: 'ab'.repeat(32),
    architecture: 'qwen3',
    layers: [1, 9, 17, 25, 33],
    hiddenSize: 4096,
    dtype: 'bf16' as const,
    captureFinal: false,
    quantization: 'none',
    truncation: 'none',
  },
  plan: { tokenBudget: 16_384, maxTokens: 8192, outputBytesMax: 2 ** 31, limit: null, seed: 0 },
  targetPath: '/models/q',
}

test('run: the first start makes it, every other finds the same', async () => {
  const store = new MemoryStore()
  assert.equal(await readRun(store), undefined)
  const first = await claimStore(store, wanted)
  const second = await claimStore(store, { ...wanted, targetPath: '/elsewhere' })
  assert.equal(second.run.id, first.run.id)
  assert.deepEqual(second.changes, [])
  assert.equal((await readRun(store))?.targetPath, '/models/q')
})

test('run: two that start at once are one run', async () => {
  const store = new MemoryStore()
  const [a, b] = await Promise.all([claimStore(store, wanted), claimStore(store, wanted)])
  assert.equal(a.run.id, b.run.id)
})

test('run: a first try whose answer was lost is this run all the same', async () => {
  class Forgetful extends MemoryStore {
    override async putIfAbsent(key: string, body: Body, options?: PutOptions): Promise<boolean> {
      await super.putIfAbsent(key, body, options)
      return false
    }
  }
  const store = new Forgetful()
  const { run } = await claimStore(store, wanted)
  assert.equal((await readRun(store))?.id, run.id)
})

test('run: of which half arrived, it is put again', async () => {
  class Halving extends MemoryStore {
    override async putIfAbsent(key: string, body: Body, options?: PutOptions): Promise<boolean> {
      assert.ok(body instanceof Uint8Array)
      return await super.putIfAbsent(key, body.subarray(0, body.length >> 1), {
        ...(options?.signal && { signal: options.signal }),
      })
    }
  }
  const store = new Halving()
  const { run } = await claimStore(store, wanted)
  assert.deepEqual(await readRun(store), run)
})

test('run: another identity is refused, each difference with both values', async () => {
  const store = new MemoryStore()
  const { run } = await claimStore(store, wanted)
  const identity = { ...wanted.identity, layers: [1, 2], dtype: 'f32' as const }
  try {
    await claimStore(store, { ...wanted, identity })
    assert.fail('the store was claimed')
  } catch (error) {
    assert.ok(isFailure(error, 'invalid'))
    assert.match(error.message, /another run. store=memory:/)
    assert.match(error.message, /\n {2}layers: store=\[1,9,17,25,33\], now=\[1,2\]\n/)
    assert.match(error.message, /\n {2}dtype: store="bf16", now="f32"$/)
    assert.doesNotMatch(error.message, /hiddenSize|target:/)
  }
  assert.deepEqual((await readRun(store))?.identity, run.identity)
  requireSameIdentity(run, wanted.identity, 'here')
})

test('run: another plan is taken up, and every change of it told', async () => {
  const store = new MemoryStore()
  await claimStore(store, wanted)
  const plan = { ...wanted.plan, tokenBudget: 1024, limit: 10 }
  const { changes } = await claimStore(store, { ...wanted, plan })
  assert.deepEqual(changes, ['tokenBudget: store=16384, now=1024', 'limit: store=null, now=10'])
})

test('run: a run.json that is cut is corrupt, one of another version is not for us', () => {
  const whole = { format: 1, id: 'r', createdAt: 'now', ...wanted }
  const text = JSON.stringify(whole)
  assert.equal(parseRun(Buffer.from(text), 's3://b').id, 'r')
  const bad = [text.slice(0, -5), '{}', '']
  for (const json of bad) {
    assert.throws(() => parseRun(Buffer.from(json), 's3://b'), {
      kind: 'corrupt',
      message: /store=s3:\/\/b/,
    })
  }
  const later = Buffer.from(JSON.stringify({ ...whole, format: 2 }))
  assert.throws(() => parseRun(later, 's3://b'), {
    kind: 'invalid',
    message: /want=1, found=2, store=s3:\/\/b/,
    remedy: /the version of Draftsmith that wrote it/,
  })
})

test('run: of half a run.json it is said what to do, by what else lies there', async () => {
  const store = new MemoryStore()
  const { run } = await claimStore(store, wanted)
  const whole = (await store.get('run.json')) ?? Buffer.alloc(0)
  const half = whole.subarray(0, whole.length >> 1)
  await store.put('run.json', half)
  await store.put('probe/x', half)
  await assert.rejects(claimStore(store, wanted), {
    kind: 'corrupt',
    remedy: 'Remove run.json from the store, and start again: nothing else lies there yet.',
  })
  await store.put('config.yaml', half)
  await assert.rejects(claimStore(store, wanted), {
    kind: 'corrupt',
    remedy: /^Restore run.json from an older version .* config\.yaml and all else/,
  })
  assert.deepEqual(await store.get('run.json'), half)
  await store.put('run.json', whole)
  assert.equal((await claimStore(store, wanted)).run.id, run.id)
})

test('run: a manifest without a run.json is nobody’s to claim', async () => {
  const store = new MemoryStore()
  await store.put('manifest/segments/a/00000000.arrow', Buffer.from('whatever'))
  await assert.rejects(claimStore(store, wanted), { kind: 'corrupt', message: /no run\.json/ })
  assert.equal(await store.head('run.json'), undefined)
})

test('run: one that another begins while the store is looked at is found, and joined', async () => {
  /** Whoever lists it is answered late: by then another has begun the run and written segments. */
  class Late extends MemoryStore {
    #isBegun = false

    override async listPage(...ask: Parameters<MemoryStore['listPage']>) {
      if (!this.#isBegun) {
        this.#isBegun = true
        await claimStore(this, wanted)
        await this.put('manifest/segments/w/00000000.arrow', Buffer.from('a segment'))
      }
      return await super.listPage(...ask)
    }
  }
  const store = new Late()
  const { run } = await claimStore(store, wanted)
  assert.equal(run.id, (await readRun(store))?.id)
})
