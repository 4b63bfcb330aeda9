import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { eachOf } from '../../../src/each-of.ts'
import type { Job } from './job.ts'

/** A user's own store, in which each job has a place of its own: it is left as it was. */

type Place = Pick<Job, 'storeUrl' | 'openStore'>

const removesAtOnce = 8
const looksMax = 5

export class OwnStore {
  /** A folder that is not there is not there afterwards. */
  readonly #made: URL | null
  readonly #used = new Set<string>()

  /** @param url  of the whole store; empty where there is none */
  constructor(url: string) {
    const folder = url.startsWith('file:') ? new URL(url) : null
    this.#made = folder && !existsSync(folder) ? folder : null
  }

  /** Places that are not emptied yet. */
  get left(): readonly string[] {
    return [...this.#used]
  }

  used({ storeUrl }: Place): void {
    this.#used.add(storeUrl)
  }

  async empty(place: Place): Promise<void> {
    if (place.storeUrl.startsWith('file:')) this.#removeFolder(new URL(place.storeUrl))
    else await emptyBucket(place)
    this.#used.delete(place.storeUrl)
  }

  /** With the folders that such a store keeps for itself. */
  #removeFolder(folder: URL): void {
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
    if (!this.#made) return
    try {
      rmdirSync(this.#made)
    } catch {
      // Another place in it is still used.
    }
  }
}

/** Until nothing is found: what was killed may have sent a last object. */
async function emptyBucket({ openStore }: Place): Promise<void> {
  const store = await openStore()
  try {
    for (let look = 0; look < looksMax; look++) {
      const keys: string[] = []
      for await (const { key } of store.list('')) keys.push(key)
      const uploads = await store.openMultiparts('')
      if (keys.length + uploads.length === 0) return
      await eachOf(keys, removesAtOnce, (key) => store.remove(key))
      for (const upload of uploads) await upload.abort()
    }
  } finally {
    store.close()
  }
}
