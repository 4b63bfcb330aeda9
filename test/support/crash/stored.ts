import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { eachOf } from '../../../src/each-of.ts'
import { type ManifestEntry, rowHash } from '../../../src/manifest/entry.ts'
import { parseSampleKey } from '../../../src/manifest/key.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { openObject, readersMax } from '../../../src/manifest/read.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import type { ObjectInfo } from '../../../src/store/store.ts'
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

export async function readStored(job: Place): Promise<Stored> {
  const store = await job.openStore()
  try {
    const objects: Record<string, string> = {}
    const infos = await listed(job)
    for (const { key } of infos) objects[key] = ''
    await eachOf(infos, readersMax, async ({ key }) => {
      const bytes = await store.get(key)
      if (bytes) objects[key] = createHash('sha256').update(bytes).digest('hex')
    })
    return { objects, entries: await union(job), named: await timesNamed(job) }
  } finally {
    store.close()
  }
}

/** The sample objects, in order of keys. */
export async function listed(job: Place): Promise<readonly ObjectInfo[]> {
  const store = await job.openStore()
  try {
    const objects: ObjectInfo[] = []
    for await (const object of store.list('hidden-states/')) objects.push(object)
    return objects
  } finally {
    store.close()
  }
}

/** What the manifest holds, in order of hashes. */
export async function union(job: Place): Promise<readonly ManifestEntry[]> {
  const store = await job.openStore()
  try {
    const table = await openManifest(store, { writer: 'reads-only' }).replay()
    return [...table.entries()].sort((a, b) => (a.hash < b.hash ? -1 : 1))
  } finally {
    store.close()
  }
}

async function timesNamed(job: Place): Promise<ReadonlyMap<string, number>> {
  const store = await job.openStore()
  const named = new Map<string, number>()
  try {
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
  } finally {
    store.close()
  }
}

/** What a crash has left half done: a count for each of the design's windows. */
export interface Windows {
  /** Computed, before the spool's rename: temporary files. */
  readonly beforeRename: number
  /** Renamed, before commit. */
  readonly beforeCommit: number
  /** Committed, before local removal. */
  readonly beforeRemoval: number
  /** Objects that no segment names: what a new machine finds. */
  readonly unnamed: number
}

export async function windowsOf(job: Place): Promise<Windows> {
  const committed = new Set((await union(job)).map(({ hash }) => hash))
  const { samples, temps } = await (await openSpool(join(job.work, 'spool'))).list()
  const beforeRemoval = samples.filter(({ hash }) => committed.has(hash)).length
  const keys = (await listed(job)).map(({ key }) => parseSampleKey(key))
  return {
    beforeRename: temps.length,
    beforeCommit: samples.length - beforeRemoval,
    beforeRemoval,
    unnamed: keys.filter((key) => key && !committed.has(key.hash)).length,
  }
}
