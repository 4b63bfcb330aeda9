/** The real loader and ledger, on threads, over an S3 server of their own. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type LoaderInput, loader } from '../../actors/loader/index.ts'
import type { Client } from '../../protocol/contract.ts'
import { type LoaderStatus, loaderContract } from '../../protocol/loader.ts'
import type { Peer } from '../../protocol/peer.ts'
import { sleep } from '../../src/clock.ts'
import { configSchema } from '../../src/config/schema.ts'
import { eachOf } from '../../src/each-of.ts'
import type { TrainingBatch } from '../../src/feed/training-batch.ts'
import { entryKey } from '../../src/manifest/entry.ts'
import { openStore } from '../../src/store/open.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { credentials, type S3Process, startS3 } from '../../supervisors/drills/rig/s3-process.ts'
import { storage } from '../../supervisors/storage.ts'
import { type FeedRig, feedRig, type RigOptions, type StoredSample } from './feed.ts'
import { told } from './ledger-rig.ts'
import type { Row } from './rows.ts'
import { scratch } from './target-run.ts'
import { type Planted, plant, puppet, supervisor } from './trees.ts'

export interface LoaderTree extends Planted, FeedRig {
  readonly s3: S3Process | null
  readonly ask: Client<typeof loaderContract>
  readonly loader: Peer<typeof loaderContract>
  status(): Promise<LoaderStatus>
  /** Asks as a trainer does: begins anew where the loader has, until there is a batch. */
  fed(plan: number): Promise<TrainingBatch | 'finished'>
}

type Options = Omit<RigOptions, 'store' | 'clock'> & { readonly place: 's3' | 'file' }

/** Started; the training is `t`. */
export async function loaderTree(
  t: TestContext,
  rows: readonly Row[],
  options: Options,
): Promise<LoaderTree> {
  const s3 = options.place === 's3' ? await startS3(t) : null
  Object.assign(process.env, credentials)
  const url = s3 ? 's3://draftsmith/run' : pathToFileURL(join(await scratch(t), 'store')).href
  const s3Options = s3 ? { endpoint: s3.endpoint } : {}
  const store = await openStore(url, s3Options, { env: credentials })
  t.after(() => store.close())
  const rig = await feedRig(t, rows, { ...options, store, stored: 0 })
  const first = rig.samples.slice(0, options.stored ?? rig.samples.length)
  await addQuickly(store, first)
  const place = { url, s3: s3Options }
  const planted = plant(t, tree({ ...rig.input, store: place }))
  const peer = planted.tree.client('loader', loaderContract)
  await planted.tree.start()
  const fed = async (plan: number): Promise<TrainingBatch | 'finished'> => {
    for (let asked = 0; asked < 10_000; asked++) {
      const found = await peer.again((ask) => ask.next({ training: 't', plan }))
      if (found.kind === 'batch') return found.batch
      if (found.kind === 'finished') return 'finished'
      if (found.kind === 'unbegun')
        await peer.again((ask) => ask.begin({ training: 't', record: null }))
      else await sleep(5)
    }
    throw new Error(`no batch came. plan=${plan}`)
  }
  const status = () => peer.again((ask) => ask.status())
  return { ...planted, ...rig, s3, ask: peer.ask, loader: peer, status, fed }
}

/** Many at once: a test may want thousands. */
async function addQuickly(store: ObjectStore, samples: readonly StoredSample[]): Promise<void> {
  await eachOf(samples, 32, async ({ entry, bytes }) => {
    await store.put(entryKey(entry), bytes)
  })
  await told(
    store,
    samples.map(({ entry }) => entry),
  )
}

function tree(input: LoaderInput) {
  const { work } = input
  const config = configSchema.parse({
    store: input.store.url,
    s3: input.store.s3,
    work,
    dataset: { path: work },
    target: { path: work },
    upload: { maxParallel: 20 },
    spool: { keepFree: '1MB', maxBytes: '100MB' },
  })
  const stored = { config, place: input.store, retry: new Map<string, number>(), storeSums: true }
  // Those that give storage its work: it names them, for the order of a stop.
  const sources = [puppet('reader'), puppet('extractor/0')]
  return supervisor('root', [storage(stored), ...sources, loader(input, { drainsAfter: [] })])
}
