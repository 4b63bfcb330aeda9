import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compactor } from '../../../actors/ledger/compactor.ts'
import { deferred } from '../../../protocol/deferred.ts'
import { seededRandom, systemClock } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { newWriterId, segmentKey, snapshotKey } from '../../../src/manifest/names.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Acknowledgement, Body, PutOptions } from '../../../src/store/store.ts'
import { storedEntry } from '../../src/manifest/entries.ts'
import { silent } from '../../support/ledger-rig.ts'

const random = seededRandom(64)
const writerId = () => newWriterId(systemClock, random)

/** Its snapshots wait until they are let through, or are refused. */
class GatedStore extends MemoryStore {
  readonly asked = deferred<void>()
  readonly gate = deferred<void>()
  refuse = false

  override async put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement> {
    this.asked.resolve()
    if (this.refuse) throw new Failure('invalid', 'access denied')
    await this.gate.promise
    return await super.put(key, body, options)
  }

  async snapshots(): Promise<number> {
    return (await this.listPage({ prefix: 'manifest/snapshots/' })).objects.length
  }
}

function rig(store: MemoryStore) {
  const manifest = openManifest(store, { writer: writerId() })
  const fatal: unknown[] = []
  const compactor = new Compactor({
    manifest,
    log: silent,
    fatal: (error) => fatal.push(error),
  })
  const commit = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await manifest.append([storedEntry(random)])
      compactor.committed()
    }
  }
  return { compactor, commit, fatal, manifest }
}

test('compactor: after 64 commits a snapshot, for which the next do not wait', async () => {
  const store = new GatedStore()
  const { compactor, commit, fatal } = rig(store)
  await commit(63)
  assert.equal(await store.snapshots(), 0)
  await commit(1)
  await store.asked.promise
  await commit(70)
  assert.equal(await store.snapshots(), 0)
  store.gate.resolve()
  await compactor.settled()
  assert.equal(await store.snapshots(), 1)
  await commit(64)
  await compactor.settled()
  assert.equal(await store.snapshots(), 2)
  assert.deepEqual(fatal, [])
})

test('compactor: what short starts before left beside no snapshot counts too', async () => {
  const store = new GatedStore()
  store.gate.resolve()
  for (let start = 0; start < 7; start++) {
    const { commit, compactor, manifest } = rig(store)
    await manifest.replay()
    await commit(9)
    await compactor.settled()
  }
  const { commit, compactor, manifest } = rig(store)
  await manifest.replay()
  assert.equal(await store.snapshots(), 0)
  await commit(1)
  await compactor.settled()
  assert.equal(await store.snapshots(), 1)
  const next = rig(store)
  await next.manifest.replay()
  await next.commit(63)
  await next.compactor.settled()
  assert.equal(await store.snapshots(), 1)
})

test('compactor: stopped, it gives up what is under way', async () => {
  const store = new GatedStore()
  const { compactor, commit, fatal } = rig(store)
  await commit(64)
  await store.asked.promise
  const stopped = compactor.stop()
  store.gate.resolve()
  await stopped
  assert.equal(await store.snapshots(), 0)
  assert.deepEqual(fatal, [])
})

test('compactor: a store that refuses a snapshot costs nothing, and is asked again', async () => {
  const store = new GatedStore()
  const { compactor, commit, fatal } = rig(store)
  store.gate.resolve()
  store.refuse = true
  await commit(64)
  await compactor.settled()
  assert.equal(await store.snapshots(), 0)
  store.refuse = false
  await commit(64)
  await compactor.settled()
  assert.equal(await store.snapshots(), 1)
  assert.deepEqual(fatal, [])
})

test("compactor: another's damaged segment is no compaction put off", async () => {
  const store = new MemoryStore()
  const { compactor, commit, fatal } = rig(store)
  await store.put(segmentKey({ writer: writerId(), seq: 0 }), Buffer.from('not Arrow'))
  await commit(64)
  await compactor.settled()
  assert.equal(fatal.length, 1)
  assert.match(String(fatal[0]), /manifest file is damaged/)
})

test('compactor: it begins by aborting what an earlier start left half sent', async () => {
  const store = new MemoryStore()
  await store.startMultipart(snapshotKey(writerId()))
  const { compactor, fatal } = rig(store)
  compactor.begin()
  await compactor.settled()
  assert.deepEqual(await store.openMultiparts(''), [])

  const blind = new MemoryStore()
  blind.openMultiparts = async () => {
    throw new Failure('invalid', 'access denied')
  }
  const other = rig(blind)
  other.compactor.begin()
  await other.compactor.settled()
  assert.deepEqual([...fatal, ...other.fatal], [])
})
