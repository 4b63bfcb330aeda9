import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Seen } from '../../../src/audit/invariants.ts'
import { type Windows, windowsIn } from '../../../src/audit/windows.ts'
import { eachOf } from '../../../src/each-of.ts'
import { type ManifestEntry, rowHash } from '../../../src/manifest/entry.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { openObject, readersMax } from '../../../src/manifest/read.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import type { ObjectInfo, ObjectStore } from '../../../src/store/store.ts'
import type { Job } from './job.ts'

/** What a run has left: in the store, and in its spool. */

type Place = Pick<Job, 'work' | 'openStore'>

export interface Stored {
  /** Key → SHA-256 of the bytes, of everything below hidden-states/, in order of keys. */
  readonly objects: Readonly<Record<string, string>>
  /** The manifest's union, in order of hashes. */
  readonly entries: readonly ManifestEntry[]
  /** How often each sample stands in a segment. */
  readonly named: ReadonlyMap<string, number>
}

export const readStored = (job: Place): Promise<Stored> =>
  reading(job, async (store) => {
    const objects: Record<string, string> = {}
    const infos = await samplesIn(store)
    for (const { key } of infos) objects[key] = ''
    await eachOf(infos, readersMax, async ({ key }) => {
      const bytes = await store.get(key)
      if (bytes) objects[key] = createHash('sha256').update(bytes).digest('hex')
    })
    return { objects, entries: await unionIn(store), named: await timesNamed(store) }
  })

/** The sample objects, in order of keys. */
export const listed = (job: Place): Promise<readonly ObjectInfo[]> => reading(job, samplesIn)

/** What the manifest holds, in order of hashes. */
export const union = (job: Place): Promise<readonly ManifestEntry[]> => reading(job, unionIn)

/** Of the spool first, of the objects last: what was committed by then is stored by now. */
export const look = (job: Place): Promise<Seen> =>
  reading(job, async (store) => {
    const { samples, temps } = await (await openSpool(join(job.work, 'spool'))).list()
    const entries = await unionIn(store)
    const objects = await samplesIn(store)
    return {
      entries: new Map(entries.map((entry) => [entry.hash, entry])),
      objects: new Map(objects.map(({ key, size }) => [key, size])),
      spooled: samples,
      temps: temps.length,
    }
  })

export const windowsOf = async (job: Place): Promise<Windows> => windowsIn(await look(job))

async function reading<T>(job: Place, read: (store: ObjectStore) => Promise<T>): Promise<T> {
  const store = await job.openStore()
  try {
    return await read(store)
  } finally {
    store.close()
  }
}

async function samplesIn(store: ObjectStore): Promise<ObjectInfo[]> {
  const objects: ObjectInfo[] = []
  for await (const object of store.list('hidden-states/')) objects.push(object)
  return objects
}

async function unionIn(store: ObjectStore): Promise<readonly ManifestEntry[]> {
  const table = await openManifest(store, { writer: 'reads-only' }).replay()
  return [...table.entries()].sort((a, b) => (a.hash < b.hash ? -1 : 1))
}

async function timesNamed(store: ObjectStore): Promise<ReadonlyMap<string, number>> {
  const named = new Map<string, number>()
  for await (const segment of store.list('manifest/segments/')) {
    const opened = await openObject(store, segment)
    await opened?.read((rows) => {
      for (let row = 0; row < rows.count; row++) {
        const hash = rowHash(rows, row)
        named.set(hash, (named.get(hash) ?? 0) + 1)
      }
    })
  }
  return named
}
