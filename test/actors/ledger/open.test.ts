import assert from 'node:assert/strict'
import { readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createActor } from 'xstate'
import { newGrants } from '../../../actors/ledger/grants.ts'
import { newSharedPermits } from '../../../actors/ledger/held-permits.ts'
import type { LedgerInput } from '../../../actors/ledger/index.ts'
import { ledgerMachine } from '../../../actors/ledger/machine.ts'
import { openLedger } from '../../../actors/ledger/open.ts'
import { type Disk, systemDisk } from '../../../src/disk.ts'
import { Failure } from '../../../src/failure.ts'
import { sampleKey } from '../../../src/manifest/key.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Body, ObjectStore, PutOptions } from '../../../src/store/store.ts'
import { realSurroundings } from '../../../src/surroundings.ts'
import { HastyClock } from '../../src/store/hasty-clock.ts'
import { hashOf, replayed, silent, spoolSample } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

const input = (work: string): LedgerInput => ({
  work,
  store: { url: 'memory:', s3: {} },
  attempts: 3,
  maxParallel: 10,
  deadlineMinutes: 30,
  commit: { every: 1000, seconds: 1e6 },
  spool: { keepFree: 0, maxBytes: 1e9 },
  retry: new Map(),
  grants: newGrants(['extractor/0', 'extractor/1']),
  permits: newSharedPermits([]),
})

const openOn = (work: string, store: ObjectStore, generation: number, story: string[] = []) =>
  openWith(input(work), store, { generation, story })

interface OpenedBy {
  readonly generation: number
  readonly story?: string[]
  readonly disk?: Disk
}

const openWith = (
  given: LedgerInput,
  store: ObjectStore,
  { generation, story = [], disk = systemDisk }: OpenedBy,
) =>
  openLedger(given, {
    generation,
    store,
    log: silent,
    around: { ...realSurroundings, clock: new HastyClock(), disk },
    replayed: () => story.push('replayed'),
    recovering: ({ checked, files }) => story.push(`recovering ${checked} of ${files}`),
    refused: ({ message }) => story.push(`refused ${message}`),
    fatal: (error) => story.push(`fatal ${error}`),
  })

test('ledger: rebuilt from store and spool, it goes on where the one before died', async (t) => {
  const work = await scratch(t)
  const store = new MemoryStore()
  const spool = await openSpool(join(work, 'spool'))
  const { ledger, committer } = await openOn(work, store, 1)
  for (const n of [1, 2]) await ledger.spooled('extractor/0', [await spoolSample(spool, n)])
  const next = await ledger.next('uploader/0', false)
  if (!next) assert.fail('a lease was expected')
  const { id, item: sample } = next
  ledger.stored(id, sampleKey(sample.hash, sample.crc32))
  await committer.flush()
  // A file that was cut, and one whose writer died.
  const torn = await spoolSample(spool, 3)
  await truncate(spool.path(torn), 1)
  await writeFile(
    join(spool.dir, `.${'0'.repeat(32)}-1-1-00000000.safetensors.${'a'.repeat(16)}.tmp`),
    '',
  )

  const story: string[] = []
  const again = await openOn(work, store, 2, story)
  assert.deepEqual(story, ['replayed', 'recovering 1 of 2', 'recovering 2 of 2'])
  assert.equal(again.ledger.status().committed, 1)
  assert.equal((await readdir(spool.dir)).length, 1)
  const known = Buffer.from(again.ledger.known()).toString('hex').match(/.{32}/g)
  assert.deepEqual(known, [hashOf(1), hashOf(2)])
  const left = await again.ledger.next('uploader/0', false)
  assert.equal(left?.item.hash, hashOf(2))
  again.ledger.stored(id, 'hidden-states/of/another/life')
  assert.equal(again.committer.waiting, 0)
})

test('ledger: restarted, it grants nobody the room that a living writer still fills', async (t) => {
  const work = await scratch(t)
  const given = { ...input(work), spool: { keepFree: 0, maxBytes: 20 } }
  const store = new MemoryStore()
  const before = await openWith(given, store, { generation: 1 })
  assert.equal(await before.ledger.room('extractor/0', 16), true)
  const spool = await openSpool(join(work, 'spool'))
  const written = await spoolSample(spool, 1)
  const { ledger } = await openWith(given, store, { generation: 2 })
  assert.equal(await ledger.room('extractor/1', 16), false)
  await ledger.spooled('extractor/0', [written, await spoolSample(spool, 2)])
  assert.equal(ledger.status().spool.bytes, 6)
  assert.equal(await ledger.room('extractor/1', 14), true)
  // Another start of it has nothing of it to write.
  const third = await openWith(given, store, { generation: 3 })
  assert.equal(await third.ledger.room('extractor/0', 14), false)
  await third.ledger.spooled('extractor/1', [])
  assert.equal(await third.ledger.room('extractor/0', 14), true)
})

test('ledger: a segment waits for a store that is away, then names all it should', async (t) => {
  class Away extends MemoryStore {
    left = 5
    override async putIfAbsent(key: string, body: Body, options?: PutOptions): Promise<boolean> {
      if (this.left-- > 0) throw new Failure('unavailable', 'the line is down')
      return await super.putIfAbsent(key, body, options)
    }
  }
  const store = new Away()
  const { ledger, committer } = await openOn(await scratch(t), store, 1)
  ledger.quarantined([{ hash: hashOf(1), tokens: 1, reason: 'not finite' }])
  await committer.flush()
  assert.equal((await replayed(store)).quarantined, 1)
})

test('ledger: a segment that cannot be written at all ends it, refused or otherwise', async (t) => {
  for (const [kind, told] of [
    ['invalid', /^refused access denied/],
    ['superseded', /^fatal .*access denied/],
  ] as const) {
    class Closed extends MemoryStore {
      override async putIfAbsent(): Promise<boolean> {
        throw new Failure(kind, 'access denied')
      }
    }
    const story: string[] = []
    const { ledger, committer } = await openOn(await scratch(t), new Closed(), 1, story)
    ledger.quarantined([{ hash: hashOf(1), tokens: 1, reason: 'not finite' }])
    committer.hurry()
    await assert.rejects(committer.flush(), { kind })
    assert.match(story.at(-1) ?? '', told)
  }
})

test('ledger: a spool that lets no file go ends it, and is no refusal by the store', async (t) => {
  const work = await scratch(t)
  const disk: Disk = {
    ...systemDisk,
    remove: async (path) => {
      throw Object.assign(new Error(`EROFS: unlink '${path}'`), {
        code: 'EROFS',
        syscall: 'unlink',
      })
    },
  }
  const story: string[] = []
  const store = new MemoryStore()
  const { ledger, committer } = await openWith(input(work), store, { generation: 1, story, disk })
  const spool = await openSpool(join(work, 'spool'))
  await ledger.spooled('extractor/0', [await spoolSample(spool, 1)])
  const { id, item } = (await ledger.next('uploader/0', false)) ?? assert.fail('nothing to send')
  ledger.stored(id, sampleKey(item.hash, item.crc32))
  await assert.rejects(committer.flush(), { kind: 'invalid', message: /file not removed/ })
  assert.deepEqual(
    story.map((line) => line.replace(/\. .*/, '')),
    ['replayed', 'fatal Failure: file not removed'],
  )
  assert.equal((await replayed(store)).stored, 1)
})

test('ledger: its life goes from replay over recovery to serving, and drains from each', () => {
  const life = createActor(ledgerMachine).start()
  const states = (['replayed', 'recovered', 'drain', 'drained'] as const).map((type) => {
    life.send({ type })
    return life.getSnapshot().value
  })
  assert.deepEqual(states, ['recovering', 'serving', 'draining', 'closed'])
})

test('ledger: one that lost its store keeps the reason, and drains all the same', () => {
  const life = createActor(ledgerMachine).start()
  const why = { reason: 'silent', remedy: null }
  life.send({ type: 'lost', why: { ...why, reason: 'too early to tell' } })
  assert.equal(life.getSnapshot().context.whyLost, null)
  for (const type of ['replayed', 'recovered'] as const) life.send({ type })
  life.send({ type: 'lost', why })
  assert.deepEqual(life.getSnapshot().context, { whyLost: why })
  life.send({ type: 'drain' })
  assert.equal(life.getSnapshot().value, 'draining')
  assert.deepEqual(life.getSnapshot().context.whyLost, why)
})

test('ledger: one that loses its store while it drains tells why, too', () => {
  const life = createActor(ledgerMachine).start()
  for (const type of ['replayed', 'recovered', 'drain'] as const) life.send({ type })
  const why = { reason: 'refused', remedy: 'Allow it.' }
  life.send({ type: 'lost', why })
  const { context, value } = life.getSnapshot()
  assert.deepEqual([value, context.whyLost], ['draining', why])
})
