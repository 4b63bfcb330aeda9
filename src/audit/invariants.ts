/**
 * The promises of a run as pure functions of what is seen of it: drills ask them of a real store
 * and disk, the simulator of its own. Each tells what breaks it; nothing where it holds.
 */
import { entryKey, type ManifestEntry } from '../manifest/entry.ts'
import type { SpooledSample } from '../spool/name.ts'

/** A run, seen from outside at one moment; of the spool first, of the store last. */
export interface Seen {
  /** The manifest's union, by hash. */
  readonly entries: ReadonlyMap<string, ManifestEntry>
  /** Bytes of each object below `hidden-states/`, by key. */
  readonly objects: ReadonlyMap<string, number>
  /** Finished files. */
  readonly spooled: readonly SpooledSample[]
  /** Files that are not finished. */
  readonly temps: number
}

/** A promise that does not hold, and the samples that show it: hashes, or keys. */
export interface Breach {
  readonly invariant: Invariant
  readonly samples: readonly string[]
}

/** What must hold, in words for people. */
export const invariants = {
  stored: 'what the manifest names is in the store, whole',
  rows: 'what the manifest names is a row of the dataset',
  kept: 'what was committed once stays committed, and its object stays',
  removed: 'a local file goes only after its commit',
  once: 'every row ends exactly once',
  cleared: 'a local file goes after its commit, and nothing is left behind',
  same: 'keys and bytes are those of an undisturbed run',
  requests: 'at most upload.maxParallel requests to the store are open at once',
  room: 'the spool never passes spool.maxBytes',
  headroom: 'the disk always keeps spool.keepFree free',
  apart: 'extraction waits for room in the spool alone, never for the store, and says so',
} as const

export type Invariant = keyof typeof invariants

/** What holds at every moment, whoever has just died. @param wanted  hashes of the dataset */
export const atAnyMoment = (seen: Seen, wanted: ReadonlySet<string>): Breach[] =>
  breaches({
    stored: valuesOf(seen.entries)
      .filter((entry) => !isStored(entry, seen))
      .map(({ hash }) => hash),
    rows: [...seen.entries.keys()].filter((hash) => !wanted.has(hash)),
  })

/** What holds between two moments, whatever came between them, on one machine. */
export function sinceThen(before: Seen, now: Seen): Breach[] {
  const spooled = new Set(now.spooled.map(({ hash }) => hash))
  const gone = before.spooled.filter(({ hash }) => !spooled.has(hash) && !isEnded(now, hash))
  return breaches({
    kept: valuesOf(before.entries)
      .filter((entry) => entry.status === 'stored' && !isStoredStill(entry, now))
      .map(({ hash }) => hash),
    removed: gone.map(({ hash }) => hash),
  })
}

/** What holds when a run has said that it is done. */
export interface Ends {
  /** Hashes of the dataset's usable rows. */
  readonly wanted: ReadonlySet<string>
  /** That the run has said it could not store. */
  readonly failed: ReadonlySet<string>
  /** How often segments name each sample, where two supervisors did not do so. */
  readonly named: ReadonlyMap<string, number> | null
}

export function atTheEnd(seen: Seen, { wanted, failed, named }: Ends): Breach[] {
  const endings = (hash: string) => Number(isEnded(seen, hash)) + Number(failed.has(hash))
  const twice = [...(named ?? [])].filter(([, times]) => times > 1).map(([hash]) => hash)
  const unended = [...wanted].filter((hash) => endings(hash) !== 1)
  const left = seen.spooled.filter(({ hash }) => !failed.has(hash)).map(({ hash }) => hash)
  const temps = Array.from({ length: seen.temps }, () => 'an unfinished file')
  return breaches({ once: [...unended, ...twice], cleared: [...left, ...temps] })
}

/**
 * What holds on one kind of processor, where no batch had to be halved.
 *
 * @param wanted  a digest of each object's bytes, by key, of an undisturbed run
 * @param found   of this one
 */
export function asIfUndisturbed(
  wanted: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string>>,
): Breach[] {
  const keys = new Set([...Object.keys(wanted), ...Object.keys(found)])
  return breaches({ same: [...keys].filter((key) => wanted[key] !== found[key]).sort() })
}

/** What was found at the worst moment, and what is allowed. */
export interface Worst {
  readonly found: number
  readonly allowed: number
}

/** A run, watched while it ran. Absent: of that nothing could be seen. */
export interface Watched {
  /** The most that were open at once. */
  readonly requests?: Worst
  /** The most bytes of all files in the spool. */
  readonly spool?: Worst
  /** The least bytes free on the spool's disk, where nobody else writes on it. */
  readonly free?: Worst
}

/** What holds at every moment of a run, whatever its store and its disk do. */
export function whileItRan({ requests, spool, free }: Watched): Breach[] {
  const passed = ({ found, allowed }: Worst) =>
    found > allowed ? [`${found}, of at most ${allowed}`] : []
  return breaches({
    requests: requests ? passed(requests) : [],
    room: spool ? passed(spool) : [],
    headroom: free && free.found < free.allowed ? [`${free.found} of ${free.allowed} bytes`] : [],
  })
}

/** A run whose store has answered nobody for long enough to compute all that there is room for. */
export interface WithoutStore {
  readonly batches: { readonly computed: number; readonly all: number }
  /** Why new samples wait, as the run tells it; null: none does. */
  readonly waits: string | null
}

export function withoutStore({ batches: { computed, all }, waits }: WithoutStore): Breach[] {
  const isHeld = computed >= all || waits !== null
  return breaches({
    apart: isHeld ? [] : [`${computed} of ${all} batches, and no word of waiting`],
  })
}

const isEnded = (seen: Seen, hash: string): boolean => {
  const status = seen.entries.get(hash)?.status
  return status === 'stored' || status === 'quarantined'
}

const isStored = (entry: ManifestEntry, { objects }: Seen): boolean =>
  entry.status !== 'stored' || objects.get(entryKey(entry)) === entry.offset + entry.length

const isStoredStill = (entry: ManifestEntry, now: Seen): boolean =>
  now.entries.get(entry.hash)?.status === 'stored' && now.objects.has(entryKey(entry))

const valuesOf = <T>(map: ReadonlyMap<string, T>): T[] => [...map.values()]

function breaches(found: Partial<Record<Invariant, readonly string[]>>): Breach[] {
  const all: Breach[] = []
  for (const [invariant, samples] of Object.entries(found)) {
    if (samples.length > 0) all.push({ invariant: invariant as Invariant, samples })
  }
  return all
}
