import { join } from 'node:path'
import { type Clock, sleep } from '../../src/clock.ts'
import { explain, type Failure, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { ManifestEntry } from '../../src/manifest/entry.ts'
import { type Manifest, openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { Guests } from '../../src/spool/guests.ts'
import { type RecoverProgress, recoverSpool } from '../../src/spool/recover.ts'
import { freeBytes, openSpool } from '../../src/spool/spool.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { realSurroundings, type Surroundings } from '../../src/surroundings.ts'
import { Committer } from './commit.ts'
import { Compactor, type CompactRule } from './compactor.ts'
import { Grants } from './grants.ts'
import type { LedgerInput } from './index.ts'
import { Ledger } from './ledger.ts'
import { Room } from './room.ts'

const appendPauseMs = 2000

export interface OpenedLedger {
  readonly ledger: Ledger
  readonly committer: Committer
  readonly room: Room
  readonly compactor: Compactor
  readonly manifest: Manifest
}

export interface OpenParts {
  readonly generation: number
  readonly store: ObjectStore
  readonly log: Log
  readonly around?: Surroundings
  readonly compaction?: CompactRule | undefined
  /** The manifest is in memory. */
  readonly replayed: () => void
  /** Told after each spooled file. */
  readonly recovering: (progress: RecoverProgress) => void
  /** The store takes no segment, and waiting mends nothing: nothing more is committed. */
  readonly refused: (failure: Failure) => void
  /** Another writes under our name, a damaged manifest, a spool that is stuck: the thread ends. */
  readonly fatal: (error: unknown) => void
}

/**
 * Rebuilds the ledger from the manifest and the spool. Every start writes under a name of its own,
 * so that no two ever write the same segment.
 */
export async function openLedger(input: LedgerInput, parts: OpenParts): Promise<OpenedLedger> {
  const { store, log, around = realSurroundings } = parts
  const { clock, random } = around
  let isNoteDamaged = false
  const manifest = openManifest(store, {
    writer: newWriterId(around.wall, random),
    clock: around.wall,
    random,
    turn: around.turn,
    unnoted: (failure) =>
      log.warn({ err: failure }, 'it was not noted how far the manifest is written'),
    damaged: (failure) => {
      isNoteDamaged = true
      log.warn({ err: failure }, 'a note beside the manifest is damaged, and is written anew')
    },
  })
  const table = await manifest.replay()
  if (isNoteDamaged) manifest.noteAnew()
  log.info({ committed: table.stored, quarantined: table.quarantined }, 'manifest replayed')
  parts.replayed()
  const compactor = new Compactor({
    manifest,
    log,
    fatal: parts.fatal,
    rule: parts.compaction,
  })
  compactor.begin()
  const spool = await openSpool(join(input.work, 'spool'), around)
  const committer = new Committer({
    rule: input.commit,
    clock,
    append: async (entries) => {
      await append(manifest, entries, { clock, log })
      compactor.committed()
    },
    committed: (entries) => ledger.committed(entries),
    failed: (error) => (isFailure(error, 'invalid') ? parts.refused(error) : parts.fatal(error)),
    // The spool's disk is at fault: the supervisor looks at it, and a new start tries again.
    kept: parts.fatal,
  })
  const room = new Room(input.spool, new Grants(input.grants))
  const ledger = new Ledger({
    generation: parts.generation,
    table,
    spool,
    free: () => freeBytes(spool.dir, around.disk),
    room,
    guests: new Guests(input.work, around),
    committer,
    retry: input.retry,
    clock,
    log,
  })
  const found = await recoverSpool(spool, { onProgress: parts.recovering })
  for (const sample of found.good) await ledger.recovered(sample)
  if (found.good.length + found.torn.length + found.temps.length > 0) {
    const counts = { whole: found.good.length, torn: found.torn.length, temps: found.temps.length }
    log.info(counts, 'spool recovered')
  }
  return { ledger, committer, room, compactor, manifest }
}

/** A segment is tried until it is there: what it names is stored, and its files wait for it. */
async function append(
  manifest: Manifest,
  entries: readonly ManifestEntry[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  for (;;) {
    try {
      const segment = await manifest.append(entries)
      log.debug({ segment, entries: entries.length }, 'committed')
      return
    } catch (error) {
      if (!isFailure(error, 'unavailable')) throw error
      log.warn({ reason: explain(error) }, 'a segment waits for the store')
      await sleep(appendPauseMs, clock)
    }
  }
}
