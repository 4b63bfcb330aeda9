import assert from 'node:assert/strict'
import { rm, truncate, writeFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { createActor } from 'xstate'
import {
  afterEvent,
  beginUpload,
  type UploadEvent,
  uploadMachine,
} from '../../../actors/uploader/machine.ts'
import { SpoolReader } from '../../../actors/uploader/read.ts'
import { upload } from '../../../actors/uploader/upload.ts'
import { Failure } from '../../../src/failure.ts'
import { parseSampleKey } from '../../../src/manifest/key.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { faultyPuts, type PutFault } from '../../support/faulty-store.ts'
import { spoolSample } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

const reader = new SpoolReader()

async function rigOf(t: TestContext, ...faults: PutFault[]) {
  const spool = await openSpool(await scratch(t))
  const sample = await spoolSample(spool, 1, 'the hidden states of one sample')
  const inner = new MemoryStore()
  const faulty = faultyPuts(inner, faults)
  const tools = { store: faulty.store, path: spool.path, reader }
  const send = ({ storeSums = false } = {}) => upload(sample, { ...tools, storeSums })
  const kept = async () => {
    const keys: string[] = []
    for await (const { key } of inner.list('')) keys.push(key)
    return keys
  }
  return { send, faulty, inner, kept, path: spool.path(sample), sample }
}

test('upload: one file becomes one object, whose key says what it holds', async (t) => {
  const { send, inner, sample, kept } = await rigOf(t)
  const uploaded = await send()
  if (uploaded.kind !== 'stored') assert.fail(uploaded.reason)
  assert.deepEqual(parseSampleKey(uploaded.key), { hash: sample.hash, crc32: sample.crc32 })
  assert.equal(String(await inner.get(uploaded.key)), 'the hidden states of one sample')
  assert.deepEqual(await send(), uploaded)
  assert.deepEqual(await kept(), [uploaded.key])
})

test('upload: a file that is cut, changed, longer or gone is never sent', async (t) => {
  const damage: ((path: string) => Promise<void>)[] = [
    (path) => truncate(path, 5),
    (path) => writeFile(path, 'the hidden states of one sampl3'),
    (path) => writeFile(path, 'the hidden states of one sample.'),
    (path) => rm(path),
  ]
  for (const harm of damage) {
    const { send, path, kept, faulty } = await rigOf(t)
    await harm(path)
    assert.equal((await send()).kind, 'torn')
    assert.equal(faulty.puts, 0)
    assert.deepEqual(await kept(), [])
  }
})

/** As long as the sample, and another. */
const changed = 'the hidden states of one sampl3'

test('upload: left to the store to sum, a changed file is refused, and torn at once', async (t) => {
  const { send, path, kept, faulty } = await rigOf(t)
  await writeFile(path, changed)
  assert.equal((await send({ storeSums: true })).kind, 'torn')
  assert.equal(faulty.puts, 1)
  assert.deepEqual(await kept(), [])
})

test('upload: left to the store, one that is cut, longer or gone is still not sent', async (t) => {
  const damage: ((path: string) => Promise<void>)[] = [
    (path) => truncate(path, 5),
    (path) => writeFile(path, 'the hidden states of one sample.'),
    (path) => rm(path),
  ]
  for (const harm of damage) {
    const { send, path, faulty } = await rigOf(t)
    await harm(path)
    assert.equal((await send({ storeSums: true })).kind, 'torn')
    assert.equal(faulty.puts, 0)
  }
})

test('upload: where it was left to a store that fails in whatever way, torn is torn', async (t) => {
  const faults: PutFault[] = [
    new Failure('corrupt', 'BadDigest'),
    new Failure('unavailable', 'cut in the middle'),
    new Failure('invalid', 'an error that no list names'),
    'half',
    'half, unsaid',
    'unsaid',
  ]
  for (const fault of faults) {
    const { send, path, faulty } = await rigOf(t, fault)
    await writeFile(path, changed)
    assert.equal((await send({ storeSums: true })).kind, 'torn', String(fault))
    assert.equal(faulty.puts, 1)
  }
})

test('upload: left to the store, a whole file ends as one that was summed here', async (t) => {
  const ends: [PutFault[], string, number][] = [
    [[], 'stored', 1],
    [['unsaid'], 'stored', 1],
    [['half', 'half, unsaid'], 'stored', 3],
    [[new Failure('corrupt', 'BadDigest')], 'stored', 2],
    [['half', 'half', 'half', 'none'], 'returned', 3],
    [[new Failure('unavailable', 'timeout')], 'returned', 1],
    [[new Failure('invalid', 'access denied')], 'failed', 1],
  ]
  for (const [faults, kind, puts] of ends) {
    const { send, faulty } = await rigOf(t, ...faults)
    assert.equal((await send({ storeSums: true })).kind, kind)
    assert.equal(faulty.puts, puts)
  }
})

test('upload: a store that keeps half, said or not, is found out and put to again', async (t) => {
  const { send, faulty, inner, sample } = await rigOf(t, 'half', 'half, unsaid')
  const uploaded = await send()
  if (uploaded.kind !== 'stored') assert.fail(uploaded.reason)
  assert.equal(faulty.puts, 3)
  assert.equal((await inner.head(uploaded.key))?.crc32, sample.crc32)
})

test('upload: where nothing is said, the object is read back, and that is proof', async (t) => {
  const { send, faulty } = await rigOf(t, 'unsaid')
  assert.equal((await send()).kind, 'stored')
  assert.equal(faulty.puts, 1)
})

test('upload: one that the store damages each time goes back, with what was found', async (t) => {
  const { send, faulty } = await rigOf(t, 'half', 'half', 'half', 'none')
  const uploaded = await send()
  if (uploaded.kind === 'stored') assert.fail('it was not kept whole')
  assert.equal(uploaded.kind, 'returned')
  assert.match(uploaded.reason, /key=.*want=.*found=/)
  assert.equal(faulty.puts, 3)
})

test('upload: a body that arrived damaged is put again', async (t) => {
  const { send, faulty } = await rigOf(t, new Failure('corrupt', 'BadDigest'))
  assert.equal((await send()).kind, 'stored')
  assert.equal(faulty.puts, 2)
})

test('upload: refused for good, it has failed; out of reach, it goes back', async (t) => {
  const refused = await (await rigOf(t, new Failure('invalid', 'access denied'))).send()
  assert.deepEqual(refused, { kind: 'failed', reason: 'access denied' })
  const away = await (await rigOf(t, new Failure('unavailable', 'timeout'))).send()
  assert.deepEqual(away, { kind: 'returned', reason: 'timeout' })
})

test('upload: what is no failure of the store is a bug, and thrown', async (t) => {
  const { sample, path } = await rigOf(t)
  class Broken extends MemoryStore {
    override async put(): Promise<never> {
      throw new TypeError('undefined is not a function')
    }
  }
  await assert.rejects(
    upload(sample, { store: new Broken(), path: () => path, reader, storeSums: false }),
    TypeError,
  )
})

function lifeAfter(...types: UploadEvent['type'][]) {
  const life = createActor(uploadMachine, { input: { puts: 2 } }).start()
  for (const type of types) life.send({ type })
  const { value, status } = life.getSnapshot()
  return `${String(value)}${status === 'done' ? '.' : ''}`
}

test('upload machine: stored only after it was acknowledged and confirmed', () => {
  assert.equal(lifeAfter('intact', 'acknowledged', 'confirmed'), 'stored.')
  assert.equal(lifeAfter('acknowledged', 'confirmed'), 'checking')
  assert.equal(lifeAfter('intact', 'confirmed'), 'putting')
})

test('upload machine: damaged, it is put again as often as allowed, then returned', () => {
  assert.equal(lifeAfter('intact', 'differs'), 'putting')
  assert.equal(lifeAfter('intact', 'differs', 'acknowledged', 'differs'), 'returned.')
  assert.equal(lifeAfter('intact', 'differs', 'acknowledged', 'confirmed'), 'stored.')
})

test('upload machine: torn, refused and unavailable are ends, from wherever', () => {
  assert.equal(lifeAfter('torn'), 'torn.')
  assert.equal(lifeAfter('intact', 'torn'), 'torn.')
  assert.equal(lifeAfter('intact', 'acknowledged', 'torn'), 'torn.')
  assert.equal(lifeAfter('intact', 'refused'), 'failed.')
  assert.equal(lifeAfter('intact', 'acknowledged', 'unavailable'), 'returned.')
  assert.equal(lifeAfter('intact', 'acknowledged', 'refused', 'confirmed'), 'failed.')
})

test('upload machine: states that are shared are those of an actor, event by event', () => {
  const events = ['intact', 'acknowledged', 'differs', 'acknowledged', 'confirmed'] as const
  for (let round = 0; round < 2; round++) {
    const life = createActor(uploadMachine, { input: { puts: 2 } }).start()
    let shared = beginUpload(2)
    for (const type of events) {
      life.send({ type })
      shared = afterEvent(shared, type)
      const { value, status, context } = life.getSnapshot()
      assert.deepEqual([shared.value, shared.status, shared.context], [value, status, context])
    }
    assert.equal(shared, afterEvent(shared, 'torn'))
  }
})
