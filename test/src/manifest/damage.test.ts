/** Files of a manifest that are damaged or gone: named, never made up for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { segmentKey, writtenKey } from '../../../src/manifest/names.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { keys, open, random, writerId, written } from './writers.ts'

test('manifest: a missing segment is refused by name, in the middle and at the end', async () => {
  const store = new MemoryStore()
  const first = await written(store, 3)
  const middle = segmentKey({ writer: first.writer, seq: 1 })
  const kept = await store.get(middle)
  await store.remove(middle)
  await assert.rejects(open(store).replay(), {
    kind: 'corrupt',
    message: new RegExp(middle),
    remedy: /Restore this object/,
  })

  // Its last one, which no segment that is left has seen.
  assert.ok(kept)
  await store.put(middle, kept)
  const last = segmentKey({ writer: first.writer, seq: 2 })
  await store.remove(last)
  await assert.rejects(open(store).replay(), { kind: 'corrupt', message: new RegExp(last) })
})

test('manifest: where all that was compacted is gone, nobody begins anew in silence', async () => {
  const store = new MemoryStore()
  const { writer } = await written(store, 3)
  const later = new SimulatedClock(Date.now() + 3_600_000)
  const compacting = openManifest(store, { writer: writerId(), clock: later, random })
  await compacting.replay()
  await compacting.compact({ graceMs: 0 })
  await compacting.compact({ graceMs: 0 })
  const [snapshot, ...more] = await keys(store)
  assert.ok(snapshot?.startsWith('manifest/snapshots/') && more.length === 0)
  await store.remove(snapshot)
  await assert.rejects(open(store).replay(), {
    kind: 'corrupt',
    message: new RegExp(segmentKey({ writer, seq: 0 })),
    remedy: /Restore this object/,
  })
})

test('manifest: what counts its segments, damaged, is named; without it all is read', async () => {
  const store = new MemoryStore()
  await written(store, 3)
  await store.put(writtenKey, Buffer.from('{"format":1,"segm'))
  await assert.rejects(open(store).replay(), { kind: 'corrupt', message: /key=manifest\/written/ })
  await store.remove(writtenKey)
  assert.equal((await open(store).replay()).size, 15)
})

test('manifest: a damaged or misplaced segment is refused by name', async () => {
  const store = new MemoryStore()
  const { writer } = await written(store, 2)
  const key = segmentKey({ writer, seq: 0 })
  const next = segmentKey({ writer, seq: 1 })
  const bytes = await store.get(key)
  assert.ok(bytes)
  await store.put(key, bytes.subarray(0, -30))
  await assert.rejects(open(store).replay(), { kind: 'corrupt', message: new RegExp(key) })
  await store.put(key, (await store.get(next)) ?? bytes)
  await assert.rejects(open(store).replay(), { kind: 'corrupt', message: /another file/ })
})
