import { readSafetensors, type Safetensors } from '../../../src/safetensors/read.ts'
import { openStore } from '../../../src/store/open.ts'
import type { S3Options } from '../../../src/store/s3-connection.ts'
import { credentials } from '../../../supervisors/drills/rig/s3-process.ts'

/** Everything that a finished run has put into its store. */

export interface StoredObjects {
  /** Key → bytes, in order of keys. */
  readonly objects: ReadonlyMap<string, Buffer>
  /** Of hidden-states/, by content hash. */
  readonly samples: ReadonlyMap<string, Sample>
}

export interface Sample extends Safetensors {
  readonly key: string
  readonly bytes: Buffer
}

export async function readObjects(url: string, s3: S3Options = {}): Promise<StoredObjects> {
  const store = await openStore(url, s3, { env: credentials })
  const objects = new Map<string, Buffer>()
  const samples = new Map<string, Sample>()
  for await (const { key } of store.list('')) {
    const bytes = await store.get(key)
    if (!bytes) throw new Error(`listed, and not there: ${key}`)
    objects.set(key, bytes)
    const hash = /^hidden-states\/..\/([0-9a-f]{32})-[0-9a-f]{8}\.safetensors$/.exec(key)?.[1]
    if (hash) samples.set(hash, { ...readSafetensors(bytes, key), key, bytes })
  }
  store.close()
  return { objects, samples }
}
