import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Importer } from '../../../actors/importer/import.ts'
import { LeftAlone } from '../../../actors/importer/left-alone.ts'
import { Take } from '../../../actors/importer/take.ts'
import { deferred } from '../../../protocol/deferred.ts'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { sampleKey } from '../../../src/manifest/key.ts'
import { encodeSample, type SampleFormat, sampleMetadata } from '../../../src/sample/encode.ts'
import { findFiles } from '../../../src/sample/find.ts'
import { Keeper } from '../../../src/spool/keep.ts'
import { HastyClock } from '../../src/store/hasty-clock.ts'
import { ledgerRig, type Rig, silent } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

const captures = ['layer_0']
const format: SampleFormat = {
  captures,
  hidden: 2,
  dtype: 'f32',
  metadata: sampleMetadata('f'.repeat(64), captures),
}

/** What a file of these token ids holds. */
function encoded(ids: readonly number[], value = 1) {
  const states = new Uint8Array(new Float32Array(ids.length * 2).fill(value).buffer)
  const hash = contentHash(Int32Array.from(ids)).toString('hex')
  return encodeSample({ hash, ids: Int32Array.from(ids), states }, format)
}

const write = (path: string, ids: readonly number[], value?: number) =>
  writeFileSync(path, Buffer.concat(encoded(ids, value).parts))

interface Options {
  /** File → token ids. */
  readonly files: Readonly<Record<string, readonly number[]>>
  readonly rows: readonly (readonly number[])[]
  /** Until then the store takes nothing. */
  readonly until?: Promise<void>
}

/** A ledger, its spool, and importers that are started on the same folder one after the other. */
async function open(t: TestContext, { files, rows, until }: Options) {
  const work = await scratch(t)
  const dir = join(work, 'earlier')
  mkdirSync(dir)
  for (const [name, ids] of Object.entries(files)) write(join(dir, name), ids)
  const rig = await ledgerRig(t, { work })
  const hashes = new Set(rows.map((ids) => contentHash(Int32Array.from(ids)).toString('hex')))
  const reads: string[] = []
  const list = join(work, 'logs/left.jsonl')
  const clock = new HastyClock()
  const start = async () => {
    const keeper = new Keeper({
      spool: rig.spool,
      keepFree: 0,
      clock: new HastyClock(),
      onWait: () => undefined,
    })
    const has = async (hash: Uint8Array) => hashes.has(Buffer.from(hash).toString('hex'))
    const take = new Take({ dir, format, maxTokens: 8, rows: { has }, keeper })
    const spool = take.spool.bind(take)
    take.spool = (proved) => {
      reads.push(proved.path)
      return spool(proved)
    }
    return new Importer({
      files: await findFiles(dir),
      take,
      leftAlone: new LeftAlone(list, silent),
      clock,
      log: silent,
      maxBytes: 1e6,
      present: async () => rig.ledger.present(),
      room: (bytes) => rig.ledger.room('importer', bytes),
      spooled: (samples) => rig.ledger.spooled('importer', samples),
      settled: async () => {
        await until
        await storeAll(rig)
        return await rig.ledger.settled()
      },
    })
  }
  const left = () => readFileSync(list, 'utf8').trim().split('\n').filter(Boolean)
  return { clock, dir, rig, start, reads, left }
}

async function storeAll(rig: Rig): Promise<void> {
  for (let lease = await rig.lease(); lease; lease = await rig.lease()) {
    rig.ledger.stored(lease.id, sampleKey(lease.sample.hash, lease.sample.crc32))
  }
  await rig.committer.flush()
}

test('import: files that prove a row are stored, the rest is named; all stay', async (t) => {
  const files = { 'hs_0.safetensors': [1, 2], 'hs_1.safetensors': [3], 'other.safetensors': [9, 9] }
  const { dir, rig, start, left } = await open(t, { files, rows: [[1, 2], [3], [4]] })
  const importer = await start()
  await importer.run()
  const { outcome, found, leftAlone, examined, imported } = importer.status()
  assert.deepEqual(outcome, { committed: 2, failed: 0 })
  assert.deepEqual([found, examined, imported], [0, 3, 2])
  assert.deepEqual(leftAlone, { 'no usable row has its token ids': 1 })
  assert.deepEqual(
    left().map((line) => JSON.parse(line).file),
    ['other.safetensors'],
  )
  assert.equal(rig.ledger.status().committed, 2)
  assert.equal(readdirSync(dir).length, 3)
})

test('import: a second one reads no body, and spools nothing', async (t) => {
  const files = { 'a.safetensors': [1, 2], 'b.safetensors': [3] }
  const { rig, start, reads } = await open(t, { files, rows: [[1, 2], [3]] })
  await (await start()).run()
  assert.equal(reads.length, 2)
  const again = await start()
  await again.run()
  assert.equal(reads.length, 2)
  assert.deepEqual([again.status().found, again.status().imported], [2, 0])
  assert.deepEqual(again.status().outcome, { committed: 2, failed: 0 })
  assert.equal(rig.ledger.status().spooled.samples, 2)
})

test('import: of two files of one row one is taken, the second if the first is bad', async (t) => {
  const files = { 'a.safetensors': [1], 'b.safetensors': [1], 'd.safetensors': [2] }
  const { dir, start, left, reads } = await open(t, { files, rows: [[1], [2]] })
  write(join(dir, 'c.safetensors'), [2], Number.NaN)
  const importer = await start()
  await importer.run()
  const { found, imported, outcome } = importer.status()
  // Of files, not of rows.
  assert.deepEqual([found, imported, outcome?.committed], [1, 2, 3])
  assert.deepEqual(reads, ['a.safetensors', 'c.safetensors', 'd.safetensors'])
  assert.match(left()[0], /c\.safetensors.*NaN or infinite/)
})

test('import: a spooled file that is torn is taken once more', async (t) => {
  const { promise, resolve } = deferred<void>()
  const files = { 'a.safetensors': [1] }
  const { rig, start, reads } = await open(t, { files, rows: [[1]], until: promise })
  const importer = await start()
  const running = importer.run()
  await rig.ledger.torn(await untilLeased(rig), 'cut')
  resolve()
  await running
  assert.deepEqual(reads, ['a.safetensors', 'a.safetensors'])
  assert.equal(importer.status().outcome?.committed, 1)
})

test('import: what an earlier start spooled is taken once more where it is torn', async (t) => {
  const { promise, resolve } = deferred<void>()
  const files = { 'a.safetensors': [1] }
  const { rig, start, reads } = await open(t, { files, rows: [[1]], until: promise })
  const earlier = await start()
  const ended = earlier.run()
  const lease = await untilLeased(rig)
  earlier.drain()
  const importer = await start()
  const running = importer.run()
  while (importer.status().found === 0) await turn()
  await rig.ledger.torn(lease, 'cut')
  resolve()
  await Promise.all([ended, running])
  assert.deepEqual(reads, ['a.safetensors', 'a.safetensors'])
  assert.equal(rig.ledger.status().committed, 1)
  // Two starts have taken it, and it is one sample.
  assert.deepEqual([importer.status().imported, rig.ledger.status().spooled.samples], [1, 1])
})

const turn = () => new Promise(setImmediate)

async function untilLeased(rig: Rig): Promise<number> {
  for (;;) {
    const lease = await rig.lease()
    if (lease) return lease.id
    await turn()
  }
}

for (const [name, files, failed] of [
  ['a row that the store refuses is told as failed', { 'a.safetensors': [1] }, 1],
  [
    'of a row that the store refuses every file is told as failed',
    { 'a.safetensors': [1], 'b.safetensors': [1] },
    2,
  ],
] as const) {
  test(`import: ${name}`, async (t) => {
    const { promise, resolve } = deferred<void>()
    const { rig, start } = await open(t, { files, rows: [[1]], until: promise })
    const importer = await start()
    const running = importer.run()
    rig.ledger.failed(await untilLeased(rig), 'denied')
    resolve()
    await running
    assert.deepEqual(importer.status().outcome, { committed: 0, failed })
  })
}

test('import: a good file of a quarantined row is stored', async (t) => {
  const files = { 'a.safetensors': [1], 'b.safetensors': [1], 'd.safetensors': [3] }
  const { dir, rig, start, left } = await open(t, { files, rows: [[1], [2], [3]] })
  write(join(dir, 'c.safetensors'), [2], Number.NaN)
  const hashes = [1, 2].map((id) => contentHash(Int32Array.of(id)).toString('hex'))
  for (const hash of hashes) rig.ledger.quarantined([{ hash, tokens: 1, reason: 'not finite' }])
  await rig.committer.flush()
  const importer = await start()
  await importer.run()
  assert.equal(left().length, 1)
  assert.match(left()[0], /c\.safetensors.*NaN or infinite/)
  assert.deepEqual(importer.status().outcome, { committed: 3, failed: 0 })
  const { table } = rig.manifest
  assert.deepEqual(
    hashes.map((hash) => table.get(hash)?.status),
    ['stored', 'quarantined'],
  )
})

test('import: paused it takes nothing, until it is let go on', async (t) => {
  const files = { 'a.safetensors': [1] }
  const { clock, rig, start } = await open(t, { files, rows: [[1]] })
  const importer = await start()
  importer.pause(true)
  const running = importer.run()
  while (clock.waitsMs.length < 5 && importer.status().outcome === null) await turn()
  assert.deepEqual([importer.work, importer.status().examined], ['paused', 0])
  assert.equal(rig.ledger.status().spooled.samples, 0)
  importer.pause(false)
  await running
  assert.equal(importer.status().outcome?.committed, 1)
})

test('import: drained while paused it ends without an outcome', async (t) => {
  const files = { 'a.safetensors': [1] }
  const { rig, start } = await open(t, { files, rows: [[1]] })
  const importer = await start()
  importer.pause(true)
  const running = importer.run()
  importer.drain()
  await running
  assert.equal(importer.status().outcome, null)
  assert.equal(rig.ledger.status().spooled.samples, 0)
})

test('import: drained it looks at no more files, also where nothing lacks', async (t) => {
  const { start } = await open(t, { files: { 'a.safetensors': [1] }, rows: [[1]] })
  await (await start()).run()
  const again = await start()
  again.drain()
  await again.run()
  assert.deepEqual([again.status().examined, again.status().outcome], [0, null])
})
