/** Files of a manifest that are damaged or gone: named, never made up for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../src/clock.ts'
import type { Failure } from '../../../src/failure.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { segmentKey, writtenKey } from '../../../src/manifest/names.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Acknowledgement, Body, PutOptions } from '../../../src/store/store.ts'
import { contents } from './entries.ts'
import { keys, open, random, some, writerId, written } from './writers.ts'

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
  await assert.rejects(open(store).replay(), {
    kind: 'corrupt',
    message: new RegExp(last),
    remedy: /Or remove manifest\/written.json, knowingly/,
  })
  await store.remove(writtenKey)
  assert.equal((await open(store).replay()).size, 10)
})

test('manifest: a segment that the store lists late is found by its name', async () => {
  let late = true
  class Late extends MemoryStore {
    override async listPage(ask: { readonly prefix: string; readonly from?: string }) {
      const page = await super.listPage(ask)
      const hidden = /00000002\.arrow$|00000001\.arrow$/
      if (!late) return page
      return { ...page, objects: page.objects.filter(({ key }) => !hidden.test(key)) }
    }
  }
  const store = new Late()
  const { entries } = await written(store, 3)
  const reader = open(store)
  assert.deepEqual(contents(await reader.replay()), entries)
  late = false
  assert.deepEqual(contents(await reader.replay()), entries)
})

test('manifest: a note that cannot be kept harms no commit, and no half of it stays', async () => {
  class Halving extends MemoryStore {
    override async put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement> {
      if (key !== writtenKey || !(body instanceof Uint8Array)) {
        return await super.put(key, body, options)
      }
      await super.put(key, body.subarray(0, body.length >> 1))
      return {}
    }
  }
  const store = new Halving()
  const told: Failure[] = []
  const manifest = openManifest(store, { writer: writerId(), random, unnoted: (f) => told.push(f) })
  await manifest.replay()
  await manifest.append(some(5))
  await manifest.append(some(5))
  await manifest.noted()
  assert.ok(told.length > 0 && told.every(({ kind }) => kind === 'corrupt'))
  assert.equal(await store.head(writtenKey), undefined)
  assert.equal((await open(store).replay()).size, 10)
})

test('manifest: commits wait for no note; the newest is put after the one under way', async () => {
  const puts: string[] = []
  let release: (() => void) | undefined
  class Slow extends MemoryStore {
    override async put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement> {
      if (key === writtenKey) {
        puts.push(String(body))
        if (puts.length === 1) await new Promise<void>((resolve) => (release = resolve))
      }
      return await super.put(key, body, options)
    }
  }
  const store = new Slow()
  const manifest = open(store)
  for (let i = 0; i < 5; i++) await manifest.append(some(1))
  assert.equal(puts.length, 1)
  release?.()
  await manifest.noted()
  assert.deepEqual(
    puts.map((text) => /:(\d+)\}\}\n$/.exec(text)?.[1]),
    ['1', '5'],
  )
})

test('manifest: a note of another version is refused as such', async () => {
  const store = new MemoryStore()
  await store.put(writtenKey, Buffer.from('{"format":2}'))
  await assert.rejects(open(store).replay(), { kind: 'invalid', message: /want=1, found=2/ })
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

test('manifest: what counts its segments, damaged, is told of and noted anew', async () => {
  const store = new MemoryStore()
  const { writer } = await written(store, 3)
  const whole = await store.get(writtenKey)
  assert.ok(whole)
  const zeroed = Buffer.from(whole).fill(0, whole.length >> 1)
  const harmed = [Buffer.alloc(0), whole.subarray(0, 17), zeroed, Buffer.from('[]'), ...cuts(whole)]
  for (const bytes of harmed) {
    await store.put(writtenKey, bytes)
    const told: Failure[] = []
    const damaged = (failure: Failure) => told.push(failure)
    const manifest = openManifest(store, { writer: writerId(), random, damaged })
    assert.equal((await manifest.replay()).size, 15)
    assert.deepEqual(
      told.map(({ kind, message }) => [kind, message.includes(`bytes=${bytes.length}`)]),
      [['corrupt', true]],
    )
    // Who only reads leaves it as it is.
    assert.deepEqual(await store.get(writtenKey), bytes)
    manifest.noteAnew()
    await manifest.noted()
    assert.deepEqual(JSON.parse(String(await store.get(writtenKey))).segments, { [writer]: 3 })
  }
})

/** Every length that is no whole note, its last line end left aside. */
const cuts = (whole: Buffer): Buffer[] =>
  Array.from({ length: whole.length - 1 }, (_, length) => whole.subarray(0, length))

test('manifest: half of a note still tells of a last segment that is gone', async () => {
  const store = new MemoryStore()
  const older = await written(store, 2)
  const newer = await written(store, 12)
  const text = String(await store.get(writtenKey))
  assert.ok(text.indexOf(newer.writer) < text.indexOf(older.writer))
  const last = segmentKey({ writer: newer.writer, seq: 11 })
  await store.remove(last)
  // Its count is whole, and nothing after it.
  const cut = (at: number) => store.put(writtenKey, Buffer.from(text.slice(0, at)))
  await cut(text.indexOf(older.writer) + 5)
  await assert.rejects(open(store).replay(), { kind: 'corrupt', message: new RegExp(last) })
  // Of its count of 12 the first digit is left: that it wrote one is known.
  await cut(text.indexOf(':12,') + 2)
  assert.equal((await open(store).replay()).size, 65)
  await store.put(writtenKey, Buffer.from('{"format":2,"segm'))
  await assert.rejects(open(store).replay(), { kind: 'invalid', message: /want=1, found=2/ })
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
