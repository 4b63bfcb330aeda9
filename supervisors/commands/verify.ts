import {
  askForMissing,
  compareListing,
  type Difference,
  differenceOf,
} from '../../src/audit/compare.ts'
import { askHeads, pickStored, type ToldOfHeads } from '../../src/audit/heads.ts'
import { checkNewest, type NewestCheckpoint } from '../../src/audit/newest-checkpoint.ts'
import { checkSample, pieceBytes } from '../../src/audit/sample.ts'
import { systemClock } from '../../src/clock.ts'
import type { S3Config } from '../../src/config/schema.ts'
import { eachOf } from '../../src/each-of.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import type { EntryTable } from '../../src/manifest/table.ts'
import type { Run, RunIdentity } from '../../src/run/identity.ts'
import { solePermits } from '../../src/store/patient.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { Tally } from '../display/tally.ts'
import { whileHeld } from '../held-store.ts'
import { warnsOfDamage } from '../keeping/damaged-note.ts'
import { markLost } from '../keeping/repair.ts'
import { headsDefault, parallelDefault, type VerifyDepth } from '../keeping/verify-depth.ts'
import { type StoreOptions, s3Here, storeOfRun } from '../store-of-run.ts'
import { verifyText } from './verify-text.ts'

/** `verify STORE_URL`: does the store hold what its manifest says? */

export interface Verified {
  readonly store: string
  readonly stored: number
  readonly quarantined: number
  /** Found lost before, and not extracted again yet. */
  readonly lost: number
  /** Objects that the manifest does not name: of an interrupted run, harmless. */
  readonly unnamed: number
  readonly heads: Omit<ToldOfHeads, 'differ'>
  /** Samples whose every byte was read. */
  readonly read: number
  /** Of those that differ: marked as lost now, so that the next run extracts them again. */
  readonly repaired: number
  readonly differ: readonly Difference[]
  /** What a training would go on from; null where there is none. */
  readonly checkpoint: NewestCheckpoint | null
}

/** However many may be asked at once: what is read of them lies in memory. */
const readBytesMax = 256 << 20

export async function verify(
  url: string,
  options: StoreOptions & VerifyDepth & { readonly repair: boolean; readonly json: boolean },
): Promise<number> {
  const acquire = solePermits(options.parallel)
  const opened = await storeOfRun({ url, s3: s3Here(options) }, { actor: 'verify', acquire })
  const { store } = opened
  const found = options.repair
    ? await whileHeld(store, 'verify', async (stillHeld) => {
        const seen = await verifyIn(opened, options)
        const repaired = await markLost(store, seen.differ, stillHeld)
        return { ...seen, repaired }
      })
    : await verifyIn(opened, options)
  process.stdout.write(`${options.json ? JSON.stringify(found) : verifyText(found)}\n`)
  return found.differ.length === 0 && !found.checkpoint?.problem ? 0 : 1
}

/** As `verify` without options does. */
export async function verifyStore(url: string, s3: Partial<S3Config>): Promise<Verified> {
  const acquire = solePermits(parallelDefault)
  const opened = await storeOfRun({ url, s3 }, { actor: 'verify', acquire })
  return await verifyIn(opened, { heads: headsDefault, deep: false, parallel: parallelDefault })
}

/** @throws Failure `corrupt`: the manifest cannot be read */
async function verifyIn(
  { store, run }: { readonly store: ObjectStore; readonly run: Run },
  depth: VerifyDepth,
): Promise<Verified> {
  const writer = newWriterId(systemClock, Math.random)
  const damaged = warnsOfDamage('verify')
  const table = await openManifest(store, { writer, damaged }).replay()
  const listed = await listAll(store, table, depth.parallel)
  const heads = await headSome(store, table, depth)
  const read = depth.deep ? await readAll(store, table, { ...depth, identity: run.identity }) : []
  const checkpoint = await checkNewest(store, depth)
  const { stored, quarantined, lost } = table
  return {
    store: store.url,
    stored,
    quarantined,
    lost,
    unnamed: listed.unnamed,
    heads: { asked: heads.asked, told: heads.told },
    read: depth.deep ? stored : 0,
    repaired: 0,
    differ: firstOfEach([...listed.differ, ...heads.differ, ...read]),
    checkpoint,
  }
}

async function listAll(store: ObjectStore, table: EntryTable, parallel: number) {
  const tally = new Tally('listed', table.stored)
  let unnamed = 0
  const differ = await compareListing(store, table, {
    listed: tally.one,
    unnamed: () => {
      unnamed++
    },
  })
  tally.end()
  return { differ: await askForMissing(store, table, { differ, parallel }), unnamed }
}

async function headSome(
  store: ObjectStore,
  table: EntryTable,
  depth: VerifyDepth,
): Promise<ToldOfHeads> {
  const tally = new Tally('heads', Math.min(depth.heads, table.stored))
  const picked = pickStored(table, depth.heads, Math.random)
  const heads = await askHeads(store, picked, { parallel: depth.parallel, asked: tally.one })
  tally.end()
  return heads
}

async function readAll(
  store: ObjectStore,
  table: EntryTable,
  { parallel, identity }: { readonly parallel: number; readonly identity: RunIdentity },
): Promise<Difference[]> {
  const tally = new Tally('read', table.stored)
  const differ: Difference[] = []
  const all = pickStored(table, table.stored, Math.random)
  const atOnce = Math.min(parallel, Math.floor(readBytesMax / pieceBytes))
  await eachOf(all, atOnce, async (entry) => {
    const problem = await checkSample(store, entry, identity)
    if (problem !== null) differ.push(differenceOf(entry, problem))
    tally.one()
  })
  tally.end()
  return differ
}

/** An object that is not there differs in every way of looking: it is told once. */
function firstOfEach(differ: readonly Difference[]): Difference[] {
  const first = new Map<string, Difference>()
  for (const one of differ) if (!first.has(one.hash)) first.set(one.hash, one)
  return [...first.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}
