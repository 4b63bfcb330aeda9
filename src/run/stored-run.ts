import { randomUUID } from 'node:crypto'
import { Failure, isFailure } from '../failure.ts'
import { putBytes } from '../store/put-confirmed.ts'
import type { ObjectStore } from '../store/store.ts'
import {
  parseRun,
  planChanges,
  type Run,
  type RunIdentity,
  type RunPlan,
  requireSameIdentity,
} from './identity.ts'

/** `run.json` in the store: whose it is, settled before anything else is written there. */

export const runKey = 'run.json'
/** Beside it: the configuration, without secrets. */
export const configKey = 'config.yaml'

export interface WantedRun {
  readonly identity: RunIdentity
  readonly plan: RunPlan
  readonly targetPath: string
}

export interface StoredRun {
  readonly run: Run
  /** How the plan differs from the one the run began with: bits may then differ too. */
  readonly changes: readonly string[]
}

/** Undefined: the store holds no run. @throws Failure `corrupt`, with the way out of it */
export async function readRun(store: ObjectStore): Promise<Run | undefined> {
  const bytes = await store.get(runKey)
  try {
    return bytes && parseRun(bytes, store.url)
  } catch (error) {
    if (!isFailure(error, 'corrupt')) throw error
    const { cause, message } = error
    throw new Failure('corrupt', message, { cause, remedy: await wayOut(store) })
  }
}

/** It is put before all else: where nothing came after it, nothing is lost with it. */
async function wayOut(store: ObjectStore): Promise<string> {
  const { objects } = await store.listPage({ prefix: '' })
  const others = objects.filter(({ key }) => !beforeTheRun.test(key))
  if (others.length === 0) {
    return `Remove ${runKey} from the store, and start again: nothing else lies there yet.`
  }
  return (
    `Restore ${runKey} from an older version of the object, or from a copy: it says whose ` +
    `${others[0]?.key} and all else there is. Or use another prefix; nothing was changed.`
  )
}

/** What the first start may have left before it had claimed the store. */
const beforeTheRun = /^(run\.json$|manifest\/lock\.json$|probe\/)/

/** @throws  Failure `invalid`: the store holds no run; `corrupt` */
export async function requireRun(store: ObjectStore): Promise<Run> {
  const run = await readRun(store)
  if (run) return run
  throw new Failure('invalid', `the store holds no run. store=${store.url}`, {
    remedy: 'Name the store as the configuration does: s3://bucket/prefix or file:///path.',
  })
}

/**
 * Finds the run in the store, or makes it.
 *
 * @throws  Failure `invalid`: the store belongs to another run; `corrupt`: its run.json is damaged
 */
export async function claimStore(store: ObjectStore, wanted: WantedRun): Promise<StoredRun> {
  const found = await readRun(store)
  if (found) return adopt(found, wanted, store.url)
  if (await hasManifest(store)) {
    // Another may have begun it since, and come so far before this store answered.
    const begun = await readRun(store)
    if (begun) return adopt(begun, wanted, store.url)
    throw new Failure('corrupt', `the store has a manifest and no run.json. store=${store.url}`, {
      remedy: 'Restore run.json from a copy, or use another prefix; nothing was changed.',
    })
  }
  const run: Run = { format: 1, id: randomUUID(), createdAt: new Date().toISOString(), ...wanted }
  const bytes = Buffer.from(`${JSON.stringify(run, null, 2)}\n`)
  const isOurs = await store.putIfAbsent(runKey, bytes)
  if (isOurs && !(await holdsRun(store))) await putBytes(store, runKey, bytes)
  // Read back in any case: another may have been faster, or the answer to our own first try lost.
  const kept = await readRun(store)
  if (kept) return adopt(kept, wanted, store.url)
  throw new Failure('unavailable', `run.json comes and goes. store=${store.url}`)
}

/** A store may keep less than it was sent, and say nothing. */
async function holdsRun(store: ObjectStore): Promise<boolean> {
  try {
    return (await readRun(store)) !== undefined
  } catch (error) {
    if (isFailure(error, 'corrupt')) return false
    throw error
  }
}

const manifestFiles = ['manifest/segments/', 'manifest/snapshots/', 'manifest/written.json']

/** What a manifest names was computed by some run; without its run.json nobody knows which. */
async function hasManifest(store: ObjectStore): Promise<boolean> {
  for (const prefix of manifestFiles) {
    const { objects } = await store.listPage({ prefix })
    if (objects.length > 0) return true
  }
  return false
}

function adopt(run: Run, { identity, plan }: WantedRun, where: string): StoredRun {
  requireSameIdentity(run, identity, where)
  return { run, changes: planChanges(run.plan, plan) }
}
