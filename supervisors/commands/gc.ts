import { count } from '../../actors/console/numbers.ts'
import { findGarbage, type Garbage, type GarbageObject } from '../../src/audit/garbage.ts'
import { checkpointFiles } from '../../src/checkpoint/names.ts'
import { type Clock, wallClock } from '../../src/clock.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { eachOf } from '../../src/each-of.ts'
import { Failure } from '../../src/failure.ts'
import { openLog } from '../../src/log.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { solePermits, soleStore } from '../../src/store/patient.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { timeBy } from '../../src/store/store-time.ts'
import { Tally } from '../display/tally.ts'
import { type StillHeld, whenHeld, whileHeld } from '../held-store.ts'
import { warnsOfDamage } from '../keeping/damaged-note.ts'
import { consoleTarget } from '../log-target.ts'
import { type StoreOptions, s3Here, storeOfRun } from '../store-of-run.ts'
import { firstLines } from './first-lines.ts'

/** `gc STORE_URL`: removes what lies in a store and is of no use to its run. */

export interface GcOptions extends StoreOptions {
  readonly dryRun: boolean
  readonly olderThanMs: number
  /** Requests open at once. */
  readonly parallel: number
  readonly json: boolean
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const hoursOf = (ms: number): number => ms / hourMs

export async function gc(url: string, options: GcOptions): Promise<number> {
  requireAge(options.olderThanMs)
  const acquire = solePermits(options.parallel)
  const { store, place } = await storeOfRun({ url, s3: s3Here(options) }, { actor: 'gc', acquire })
  // A run that lives has objects that no segment names yet: to look is harmless, to remove is not.
  const found = options.dryRun
    ? await look(store, options)
    : await whileHeld(store, 'gc', async (stillHeld) => {
        const seen = await look(store, options)
        const held = await soleStore(place, { acquire: whenHeld(acquire, stillHeld) })
        await remove(held, seen, { ...options, stillHeld })
        return seen
      })
  const told = { store: store.url, ...options, found }
  process.stdout.write(`${options.json ? gcJson(told) : gcText(told)}\n`)
  return 0
}

function requireAge(olderThanMs: number): void {
  if (olderThanMs >= dayMs) return
  throw new Failure(
    'invalid',
    `younger than a day may be under way. want=24h or more, found=${hoursOf(olderThanMs)}h`,
    {
      remedy: 'Give --older-than 24h, or more.',
    },
  )
}

async function look(store: ObjectStore, { olderThanMs }: GcOptions): Promise<Garbage> {
  const clock = await clockOf(store)
  const before = clock.now() - olderThanMs
  const writer = newWriterId(clock, Math.random)
  const damaged = warnsOfDamage('gc')
  const manifest = openManifest(store, { writer, clock, damaged })
  const table = await manifest.replay()
  const tally = new Tally('listed', table.stored)
  const found = await findGarbage(store, manifest, {
    before,
    graceMs: olderThanMs,
    listed: tally.one,
  })
  tally.end()
  return found
}

/** The store's: what its objects are stamped with. Ours where nothing may be put there. */
async function clockOf(store: ObjectStore): Promise<Clock> {
  const time = await timeBy(store)
  if (time === undefined) {
    openLog({ ...consoleTarget, actor: 'gc' }).warn('ages are counted by this machine’s clock')
    return wallClock
  }
  const aheadMs = time - wallClock.now()
  return { ...wallClock, now: () => wallClock.now() + aheadMs }
}

async function remove(
  held: ObjectStore,
  found: Garbage,
  { parallel, stillHeld }: { readonly parallel: number; readonly stillHeld: StillHeld },
): Promise<void> {
  const { checkpoints, manifest, probes, samples, uploads } = found
  const all = [...samples, ...probes, ...manifest, ...checkpoints]
  const tally = new Tally('removed', all.length)
  const removeEach = (objects: readonly GarbageObject[]) =>
    eachOf(objects, parallel, async ({ key }) => {
      await held.remove(key)
      tally.one()
    })
  // Whoever dies on the way leaves nothing that looks like a checkpoint.
  await removeEach(all.filter(isState))
  await removeEach(all.filter((object) => !isState(object)))
  await eachOf(uploads, parallel, async (upload) => {
    stillHeld()
    await upload.abort()
  })
  tally.end()
}

const isState = ({ key }: GarbageObject): boolean => key.endsWith(`/${checkpointFiles.state}`)

interface Told extends GcOptions {
  readonly store: string
  readonly found: Garbage
}

const sum = (objects: readonly GarbageObject[]) => ({
  count: objects.length,
  bytes: objects.reduce((bytes, { size }) => bytes + size, 0),
  keys: objects.map(({ key }) => key),
})

function gcJson({ store, dryRun, olderThanMs, found }: Told): string {
  return JSON.stringify({
    store,
    dryRun,
    olderThanHours: hoursOf(olderThanMs),
    samples: sum(found.samples),
    manifest: sum(found.manifest),
    checkpoints: sum(found.checkpoints),
    probes: sum(found.probes),
    uploads: { count: found.uploads.length, keys: found.uploads.map(({ key }) => key) },
    left: found.left,
  })
}

function gcText({ store, dryRun, olderThanMs, found }: Told): string {
  const { checkpoints, manifest, probes, samples } = found
  const keys = [samples, manifest, checkpoints, probes].flat().map(({ key }) => key)
  const lines = dryRun ? firstLines(keys) : []
  const amount = (objects: readonly GarbageObject[]) =>
    `${count(objects.length)} (${formatBytes(sum(objects).bytes)})`
  lines.push(
    `${dryRun ? 'Would remove' : 'Removed'} from ${store}, older than ${hoursOf(olderThanMs)} h:`,
    `  ${amount(samples)} sample objects that no manifest line names`,
    `  ${amount(manifest)} manifest files that a later snapshot covers`,
    `  ${amount(checkpoints)} files of checkpoints that are not complete`,
    `  ${amount(probes)} objects that probes left`,
    `  ${count(found.uploads.length)} uploads in parts that were never completed`,
  )
  if (found.left > 0) lines.push(`${count(found.left)} younger ones stay.`)
  return lines.join('\n')
}
