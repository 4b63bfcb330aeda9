import { count } from '../../actors/console/text.ts'
import { systemClock } from '../../src/clock.ts'
import type { S3Config } from '../../src/config/schema.ts'
import { entryKey } from '../../src/manifest/entry.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { requireRun } from '../../src/run/stored-run.ts'
import { soleStore } from '../../src/store/patient.ts'
import type { ObjectInfo, ObjectStore } from '../../src/store/store.ts'

/** `verify STORE_URL`: does the store hold what its manifest says? */

export interface Difference {
  readonly key: string
  readonly problem: string
}

export interface Verified {
  readonly store: string
  readonly stored: number
  readonly quarantined: number
  /** Objects that the manifest does not name: of an interrupted run, harmless. */
  readonly unnamed: number
  readonly differ: readonly Difference[]
}

export async function verify(
  url: string,
  options: { readonly endpoint?: string; readonly region?: string; readonly json: boolean },
): Promise<number> {
  const found = await verifyStore(url, { endpoint: options.endpoint, region: options.region })
  process.stdout.write(`${options.json ? JSON.stringify(found) : verifyText(found)}\n`)
  return found.differ.length === 0 ? 0 : 1
}

/** @throws Failure `invalid`: the store holds no run; `corrupt`: the manifest cannot be read */
export async function verifyStore(url: string, s3: Partial<S3Config>): Promise<Verified> {
  const store = await soleStore({ url, s3 })
  await requireRun(store)
  const writer = newWriterId(systemClock, Math.random)
  const table = await openManifest(store, { writer }).replay()
  const objects = await listSamples(store)
  const differ: Difference[] = []
  for (const entry of table.entries()) {
    if (entry.status === 'quarantined') continue
    const key = entryKey(entry)
    const object = objects.get(key)
    objects.delete(key)
    const problem = difference(object, entry)
    if (problem) differ.push({ key, problem })
  }
  const { stored, quarantined } = table
  return { store: url, stored, quarantined, unnamed: objects.size, differ }
}

type Found = Pick<ObjectInfo, 'size' | 'crc32'>

async function listSamples(store: ObjectStore): Promise<Map<string, Found>> {
  const objects = new Map<string, Found>()
  for await (const { key, size, crc32 } of store.list('hidden-states/')) {
    objects.set(key, crc32 === undefined ? { size } : { size, crc32 })
  }
  return objects
}

function difference(
  object: Found | undefined,
  entry: { readonly length: number; readonly crc32: number },
): string | undefined {
  if (!object) return 'is not there'
  if (object.size !== entry.length) return `size: want=${entry.length}, found=${object.size}`
  if (object.crc32 === undefined || object.crc32 === entry.crc32) return undefined
  return `crc32: want=${entry.crc32}, found=${object.crc32}`
}

export function verifyText({ store, stored, quarantined, unnamed, differ }: Verified): string {
  const lines = differ.map(({ key, problem }) => `${key}: ${problem}`)
  const also = [
    quarantined > 0 ? `${count(quarantined)} samples are quarantined` : '',
    unnamed > 0 ? `${count(unnamed)} objects are named by no manifest line, and harmless` : '',
  ].filter((part) => part !== '')
  const rest = also.length > 0 ? ` (${also.join('; ')})` : ''
  lines.push(
    differ.length === 0
      ? `Verified: all ${count(stored)} samples of the manifest are in ${store}${rest}`
      : `${count(differ.length)} of ${count(stored)} samples differ in ${store}${rest}`,
  )
  return lines.join('\n')
}
