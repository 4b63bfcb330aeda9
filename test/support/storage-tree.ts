/** The real ledger and uploaders, on threads, with a full spool and an S3 server of their own. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type LedgerStatus, ledgerContract } from '../../protocol/ledger.ts'
import { sleep } from '../../src/clock.ts'
import { type Config, configSchema } from '../../src/config/schema.ts'
import type { Fault } from '../../src/dev-s3/faults.ts'
import type { DevS3Stats } from '../../src/dev-s3/server.ts'
import { openSpool, type Spool } from '../../src/spool/spool.ts'
import { openStore } from '../../src/store/open.ts'
import { credentials, type S3Process, startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { readStored, type Stored } from '../../supervisors/drills/rig/stored.ts'
import { storage } from '../../supervisors/storage.ts'
import { spoolSample } from './ledger-rig.ts'
import { scratch } from './target-run.ts'
import { type Planted, plant, puppet, supervisor } from './trees.ts'

/** Against hangs: on a quiet machine each of these comes within a second or two. */
const endMs = 120_000
/** A request that a test holds must not be given up because the machine is slow. */
const patient = { connectMs: 60_000, idleMs: 110_000, attemptMs: 110_000 }

export interface StorageTree extends Planted {
  readonly s3: S3Process
  /** The first of which this is true, of the server's counts and the ledger's word. */
  when(is: (stats: DevS3Stats, ledger: LedgerStatus) => boolean): Promise<LedgerStatus>
  stored(): Promise<Stored>
  readonly spool: Spool
}

export interface StorageOptions {
  readonly samples: number
  /** What each is; absent: a few bytes of its own. */
  readonly text?: string
  readonly upload: Partial<Config['upload']>
  readonly commit?: Config['commit']
  readonly faults: readonly Fault[]
}

/** Puts of samples. */
export const samplePuts = { operation: 'PutObject', key: 'hidden-states/' }
/** Puts of the manifest's segments. */
export const segmentPuts = { operation: 'PutObject', key: 'manifest/segments/' }
export const always = 1_000_000

/** Started. */
export async function storageTree(t: TestContext, options: StorageOptions): Promise<StorageTree> {
  const s3 = await startS3(t)
  await s3.setFaults(options.faults)
  Object.assign(process.env, credentials)
  const work = await scratch(t)
  const spool = await openSpool(join(work, 'spool'))
  for (let n = 0; n < options.samples; n++) await spoolSample(spool, n, options.text)
  const config = configSchema.parse({
    store: 's3://draftsmith/run',
    s3: { endpoint: s3.endpoint },
    work,
    dataset: { path: work },
    target: { path: work },
    upload: options.upload,
    commit: options.commit ?? { every: 1000, seconds: 0.2 },
    spool: { keepFree: '1MB', maxBytes: '100MB' },
  })
  const place = { url: config.store, s3: { ...config.s3, timeouts: patient } }
  const run = { config, place, retry: new Map<string, number>(), storeSums: true }
  const spec = storage(run)
  // Those that give storage its work: it names them, for the order of a stop.
  const planted = plant(t, supervisor('root', [spec, puppet('reader'), puppet('extractor/0')]))
  const ledger = planted.tree.client('ledger', ledgerContract)
  await planted.tree.start()
  const when: StorageTree['when'] = async (is) => {
    const deadline = Date.now() + endMs
    for (;;) {
      const [stats, status] = [await s3.stats(), await ledger.again((ask) => ask.status())]
      if (is(stats, status)) return status
      const facts = `open=${stats.open}, peak=${stats.peak}, ledger=${JSON.stringify(status)}`
      assert.ok(Date.now() < deadline, `it never came. ${facts}`)
      await sleep(25)
    }
  }
  const openRun = () => openStore(config.store, config.s3, { env: credentials })
  const stored = () => readStored({ work, openStore: openRun })
  return { ...planted, s3, when, stored, spool }
}
