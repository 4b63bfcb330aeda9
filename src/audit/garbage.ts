/** What lies in a store, is of no use to its run, and is too old to be anybody's work. */
import { Failure } from '../failure.ts'
import type { Manifest } from '../manifest/log.ts'
import { openUploads } from '../store/open-upload.ts'
import type { MultipartUpload, ObjectStore } from '../store/store.ts'
import { compareListing } from './compare.ts'
import { halfCheckpoints } from './half-checkpoints.ts'

/** Where a run's uploads lie: a store may be a whole bucket, with those of others in it. */
const ownPrefixes = ['dataset/', 'hidden-states/', 'manifest/', 'checkpoints/', 'probe/']

/** `size` in bytes. */
export interface GarbageObject {
  readonly key: string
  readonly size: number
}

export interface Garbage {
  /** Sample objects that no manifest line names. */
  readonly samples: readonly GarbageObject[]
  /** Segments and snapshots that a later snapshot covers, as compaction sees it. */
  readonly manifest: readonly GarbageObject[]
  /** Files of saves that were cut short, and of checkpoints that were being removed. */
  readonly checkpoints: readonly GarbageObject[]
  /** What a probe of the store left behind. */
  readonly probes: readonly GarbageObject[]
  /** In parts, neither completed nor aborted. None where the store does not let us list them. */
  readonly uploads: readonly MultipartUpload[]
  /** As useless, and too young, or of an age that the store does not tell. */
  readonly left: number
}

export interface GarbageRule {
  /** Milliseconds since the epoch by the store's clock: what is younger stays. */
  readonly before: number
  readonly graceMs: number
  /** Told after each sample object that was listed. */
  readonly listed: () => void
}

/**
 * Looks for it, and removes nothing. The manifest must be read already.
 *
 * @throws Failure `invalid`: the manifest names nothing, so that all would be garbage
 */
export async function findGarbage(
  store: ObjectStore,
  manifest: Manifest,
  rule: GarbageRule,
): Promise<Garbage> {
  const samples: GarbageObject[] = []
  let left = 0
  await compareListing(store, manifest.table, {
    listed: rule.listed,
    unnamed: ({ key, size, lastModified }) => {
      if (lastModified < rule.before) samples.push({ key, size })
      else left++
    },
  })
  if (manifest.table.size === 0 && samples.length > 0) throw nothingNamed(store, samples.length)
  const probes: GarbageObject[] = []
  for await (const { key, size, lastModified } of store.list('probe/')) {
    if (lastModified < rule.before) probes.push({ key, size })
    else left++
  }
  const half = await halfCheckpoints(store, rule.before)
  left += half.left
  const open = (await openUploads(store, '')).filter(({ key }) => isOwn(key))
  const uploads = open.filter(({ startedAt }) => startedAt !== undefined && startedAt < rule.before)
  left += open.length - uploads.length
  const checkpoints = half.objects
  return { samples, manifest: await manifest.needless(rule), checkpoints, probes, uploads, left }
}

/** An upload to a folder that was cut short in its start has no key yet; a bucket's always has. */
const isOwn = (key: string): boolean =>
  key === '' || ownPrefixes.some((prefix) => key.startsWith(prefix))

const nothingNamed = (store: ObjectStore, objects: number): Failure =>
  new Failure(
    'invalid',
    `all would be removed: the manifest names no sample. store=${store.url}, objects=${objects}`,
    {
      remedy:
        'Restore what was under manifest/. Or run once more, which names what it stores; or ' +
        'remove hidden-states/ yourself, knowingly.',
    },
  )
