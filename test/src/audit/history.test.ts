import assert from 'node:assert/strict'
import { test } from 'node:test'
import { historyOf } from '../../../src/audit/history.ts'
import { SimulatedClock, seededRandom } from '../../../src/clock.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { newWriterId } from '../../../src/manifest/names.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { lostEntry, quarantinedEntry, storedEntry } from '../manifest/entries.ts'
import { aged, now } from './aged.ts'

const random = seededRandom(12)
const clock = new SimulatedClock(1_800_000_000_000)

test('history: all lines of one sample, with file and writer, in every file', async () => {
  const store = new MemoryStore()
  const open = () => {
    clock.advance(1)
    return openManifest(store, { writer: newWriterId(clock, random), clock, random })
  }
  const failed = quarantinedEntry(random)
  const { hash } = failed
  const stored = storedEntry(random, { hash })
  const loss = lostEntry(random, { hash })
  const others = Array.from({ length: 50 }, () => storedEntry(random))
  const [first, second] = [open(), open()]
  const files = [await first.append([...others, failed])]
  files.push(await first.append([stored]))
  await second.replay()
  files.push(await second.append([loss, ...others.slice(0, 2)]))
  const { snapshot } = await second.compact({ graceMs: 0 })
  await store.put('manifest/segments/notes.txt', Buffer.from('nobody reads this'))

  const lines = await historyOf(store, hash)
  assert.deepEqual(new Set(lines.map(({ file }) => file)), new Set([...files, snapshot]))
  const of = (file: string | undefined) => lines.find((line) => line.file === file)
  assert.deepEqual(
    [...files, snapshot].map((file) => of(file)?.entry),
    [failed, stored, loss, loss],
  )
  // The oldest first, in whichever order their keys are listed.
  const ages = new Map([...files, snapshot].map((file, i) => [file, [10, 40, 20, 30][i] ?? 0]))
  const byAge = await historyOf(
    aged(store, (key) => ages.get(key) ?? 0),
    hash,
  )
  assert.deepEqual(
    byAge.map(({ file, at }) => [file, at]),
    [files[1], snapshot, files[2], files[0]].map((file) => [file, now - (ages.get(file) ?? 0)]),
  )
  const writers = files.map((file) => of(file)?.writer)
  assert.equal(writers[0], writers[1])
  assert.notEqual(writers[0], writers[2])
  assert.equal(of(snapshot)?.writer, null)
  assert.deepEqual(await historyOf(store, 'f'.repeat(32)), [])
})
