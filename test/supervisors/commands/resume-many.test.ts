import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { writeDataset } from '../../../src/dataset/write.ts'
import { startDevS3 } from '../../../src/dev-s3/server.ts'
import { eachOf } from '../../../src/each-of.ts'
import { entryKey, type ManifestEntry } from '../../../src/manifest/entry.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { newWriterId } from '../../../src/manifest/names.ts'
import { claimStore } from '../../../src/run/stored-run.ts'
import { openStore } from '../../../src/store/open.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { credentials } from '../../../supervisors/drills/rig/s3-process.ts'
import { publishRun } from '../../../supervisors/run/opening.ts'
import { prepare } from '../../../supervisors/run/preflight.ts'
import { draftsmith } from '../../support/commands/draftsmith.ts'
import { folder, writeConfig } from '../../support/commands/golden-job.ts'
import { line, silent } from '../../support/ledger-rig.ts'
import { always } from '../../support/storage-tree.ts'

/**
 * More than a listing tells in one answer (known-faults B27): of objects, of which S3 lists 1,000
 * at once; and of the manifest's segments, of which this server lists two.
 */

const url = 's3://draftsmith/run'
const perSegment = 100
/** All different. */
const idsOf = (row: number): Int32Array => Int32Array.of(row % 100, Math.floor(row / 100))

/** A finished run as a store holds it, but that its samples are a few bytes of text. */
async function layOutRun(store: ObjectStore, config: string, rows: number): Promise<void> {
  const prepared = await prepare(loadConfig(config).config, { filling: null, trains: false })
  const { identity, plan } = prepared
  await claimStore(store, { identity, plan, targetPath: prepared.config.target.path })
  await publishRun(store, prepared, { log: silent, alone: true }).done
  const entries = Array.from({ length: rows }, (_, row) => entryOf(row))
  await eachOf(entries, 20, async (entry) => void (await store.put(entryKey(entry), textOf(entry))))
  const manifest = openManifest(store, { writer: newWriterId(systemClock, Math.random) })
  await manifest.replay()
  for (let at = 0; at < rows; at += perSegment) {
    await manifest.append(entries.slice(at, at + perSegment))
  }
}

const textOf = ({ hash }: { readonly hash: string }): Buffer => Buffer.from(hash)

function entryOf(row: number): ManifestEntry {
  const hash = contentHash(idsOf(row)).toString('hex')
  const bytes = textOf({ hash })
  return { ...line(hash), status: 'stored', length: bytes.length, crc32: crc32(bytes), tokens: 2 }
}

async function served(t: TestContext) {
  const [accessKeyId, secretAccessKey] = Object.values(credentials)
  const server = await startDevS3({ accessKeyId, secretAccessKey, buckets: ['draftsmith'] })
  t.after(() => server.close())
  const store = await openStore(url, { endpoint: server.endpoint }, { env: credentials })
  t.after(() => store.close())
  return { server, store }
}

for (const rows of [1001, 2500]) {
  test(`resume: ${rows} stored samples, an empty machine: none is extracted`, async (t) => {
    const dir = folder(t)
    const path = join(dir, 'dataset')
    const lossMask = Uint8Array.of(1, 1)
    const written = Array.from({ length: rows }, (_, row) => ({ inputIds: idsOf(row), lossMask }))
    await writeDataset(path, { rows: written, count: rows, shards: 1 })
    const { server, store } = await served(t)
    const s3 = { endpoint: server.endpoint }
    const config = writeConfig(dir, 'job', { store: url, s3, dataset: { path }, work: dir })
    await layOutRun(store, config, rows)
    const listings = { operation: 'ListObjectsV2' }
    server.faults.push({ times: always, kind: 'short-pages', match: listings })
    const before = server.stats.requests.ListObjectsV2

    const args = ['resume', url, '--work', 'empty', '--endpoint', server.endpoint, '--json']
    const ended = await draftsmith(args, { dir, env: credentials })
    assert.equal(ended.code, 0, ended.stderr)
    const { rows: ends, extracted } = JSON.parse(ended.stdout)
    assert.deepEqual([ends.committed, extracted.samples], [rows, 0])
    const pages = server.stats.requests.ListObjectsV2 - before
    assert.ok(pages >= rows / perSegment / 2, `pages=${pages}`)
  })
}
