/** Real uploaders and a real ledger under one cap, counted at the server. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { entryKey } from '../../src/manifest/entry.ts'
import { threadsOf } from '../../supervisors/storage.ts'
import { always, samplePuts, segmentPuts, storageTree } from '../support/storage-tree.ts'
import { startOf } from '../support/trees.ts'

test('storage: of 100 permits four uploaders use 95 for samples, and none beyond', async (t) => {
  const upload = { maxParallel: 100, threads: 4 }
  const faults = [
    // Answered once 95 of them are open together: none of them before.
    { kind: 'hold', times: 95, match: samplePuts },
    { kind: 'delay', ms: 200, times: always, match: samplePuts },
  ] as const
  const { when, s3 } = await storageTree(t, { samples: 400, upload, faults })
  await when((_, { committed }) => committed === 400)
  const { peak, requests } = await s3.stats()
  assert.ok(peak >= 95 && peak <= 100, `peak=${peak}`)
  assert.ok((requests.PutObject ?? 0) >= 400)
})

test('storage: permits of an uploader that is killed in mid-put come back', async (t) => {
  const upload = { maxParallel: 20, threads: 2 }
  const faults = [{ kind: 'hold', times: always, match: samplePuts }] as const
  const { when, s3, tree, until } = await storageTree(t, { samples: 60, upload, faults })
  // Of 19 that the ledger gives, one is kept for the manifest.
  await when(({ open }) => open === 18)
  await tree.kill('uploader/0')
  await until(startOf('uploader/0', 2))
  await when(({ open }, { permits, uploading }) => {
    return open === 18 && permits.open === 18 && uploading === 18
  })
  await s3.setFaults([])
  const { permits } = await when(
    (_, ledger) => ledger.committed === 60 && ledger.permits.open === 0,
  )
  assert.ok(permits.peak <= 19)
  const { peak } = await s3.stats()
  assert.ok(peak <= 20, `peak=${peak}`)
})

test('storage: with 95 samples stalled the manifest is still written', async (t) => {
  const upload = { maxParallel: 100, threads: 2 }
  const faults = [
    { kind: 'delay', ms: 0, times: 5, match: samplePuts },
    { kind: 'hold', times: always, match: samplePuts },
  ] as const
  const { when, s3 } = await storageTree(t, { samples: 120, upload, faults })
  await when(({ open }, { committed }) => open === 95 && committed === 5)
  await s3.setFaults([])
  await when((_, { committed }) => committed === 120)
})

test('storage: a throttled manifest slows no sample, and is whole at the end', async (t) => {
  const upload = { maxParallel: 20, threads: 1 }
  const commit = { every: 10, seconds: 0.2 }
  const faults = [{ kind: 'hold', times: always, match: segmentPuts }] as const
  const { when, s3 } = await storageTree(t, { samples: 60, upload, commit, faults })
  const waiting = await when((_, { stored }) => stored.samples === 60)
  assert.equal(waiting.committed, 0)
  await s3.setFaults([{ kind: 'throttle', everyMs: 100, times: always, match: segmentPuts }])
  const { permits } = await when((_, { committed }) => committed === 60)
  assert.equal(permits.inForce, permits.max)
})

test('storage: fewer samples at once go to a store that says it has too much to do', async (t) => {
  const upload = { maxParallel: 40, threads: 2 }
  const faults = [
    { kind: 'error', status: 503, code: 'SlowDown', times: 30, match: samplePuts },
  ] as const
  const { when } = await storageTree(t, { samples: 100, upload, faults })
  const { permits, failed } = await when((_, { committed }) => committed === 100)
  assert.deepEqual(failed, [])
  assert.ok(permits.inForce < permits.max, JSON.stringify(permits))
})

test('storage: the cap changes in mid-work, and a ledger that restarts is told', async (t) => {
  const upload = { maxParallel: 10, threads: 2 }
  const faults = [{ kind: 'hold', times: always, match: samplePuts }] as const
  const rig = await storageTree(t, { samples: 200, upload, faults })
  const { when, s3, tree, until } = rig
  // Nine are the ledger's, of which one is kept for the manifest.
  await when(({ open }) => open === 8)
  tree.change({ 'upload.maxParallel': 40 })
  await when(({ open }, { permits }) => open === 38 && permits.max === 39)

  await tree.kill('ledger')
  for (const child of ['ledger', 'uploader/0', 'uploader/1']) {
    await until(startOf(child, 2))
  }
  await when(({ open }, { permits }) => open === 38 && permits.max === 39)
  tree.change({ 'upload.maxParallel': 5 })
  await when((_, { permits }) => permits.max === 4)
  await s3.setFaults([])
  const { permits } = await when((_, { committed }) => committed === 200)
  assert.equal(permits.max, 4)
  const { peak } = await s3.stats()
  assert.ok(peak <= 40, `peak=${peak}`)
})

test('storage: half a body read, then 503, twice: a whole object, one line (B24)', async (t) => {
  const upload = { maxParallel: 20, threads: 1 }
  const faults = [{ kind: 'half-read', times: 2, match: samplePuts }] as const
  const text = 'every byte of a sample '.repeat(50_000)
  const { when, s3, stored } = await storageTree(t, { samples: 1, text, upload, faults })
  await when((_, { committed }) => committed === 1)
  assert.deepEqual(await s3.faultsLeft(), [])
  const { objects, entries, named } = await stored()
  assert.equal(entries.length, 1)
  const sha = createHash('sha256').update(text).digest('hex')
  assert.deepEqual(objects, { [entryKey(entries[0])]: sha })
  assert.deepEqual([...named], [[entries[0].hash, 1]])
})

test('storage: files that change in the spool are refused by the store, and torn', async (t) => {
  const upload = { maxParallel: 10, threads: 1 }
  const faults = [{ kind: 'hold', times: always, match: samplePuts }] as const
  const { when, s3, spool, stored } = await storageTree(t, { samples: 30, upload, faults })
  // Eight have been read and are held; the others are read after this.
  await when(({ open }) => open === 8)
  for (const sample of (await spool.list()).samples) {
    const bytes = await readFile(spool.path(sample))
    bytes[0] ^= 1
    // Each keeps its length: only its sum tells.
    await writeFile(spool.path(sample), bytes)
  }
  await s3.setFaults([])
  const { failed } = await when(
    (_, { committed, spool: { files } }) => committed === 8 && files === 0,
  )
  assert.deepEqual(failed, [])
  const { objects, named } = await stored()
  assert.deepEqual([Object.keys(objects).length, named.size], [8, 8])
})

test('storage: unless told, one thread uploads on fewer than four cores, two on more', () => {
  const unsaid = { threads: null }
  assert.deepEqual(
    [1, 2, 3, 4, 64].map((cores) => threadsOf(unsaid, cores)),
    [1, 1, 1, 2, 2],
  )
  assert.equal(threadsOf({ threads: 7 }, 2), 7)
})
