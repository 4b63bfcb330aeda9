/** A ledger on a real spool, a real manifest and a store in memory, for tests. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { crc32 } from 'node:zlib'
import { type CommitRule, Committer } from '../../actors/ledger/commit.ts'
import { Grants, newGrants } from '../../actors/ledger/grants.ts'
import { Ledger } from '../../actors/ledger/ledger.ts'
import { Room } from '../../actors/ledger/room.ts'
import type { SampleRef } from '../../protocol/sample.ts'
import { type Clock, seededRandom } from '../../src/clock.ts'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import { openLog } from '../../src/log.ts'
import type { ManifestEntry } from '../../src/manifest/entry.ts'
import { type Manifest, openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { Guests } from '../../src/spool/guests.ts'
import { openSpool, type Spool } from '../../src/spool/spool.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { HastyClock } from '../src/store/hasty-clock.ts'
import { scratch } from './target-run.ts'

export const silent = openLog({ actor: 'test', level: 'info', stderr: 'none' })

export const hashOf = (n: number): string => contentHash(Int32Array.of(n)).toString('hex')

/** A finished file in the spool: sample `n`, which is of one token. */
export async function spoolSample(spool: Spool, n: number, text = `n=${n}`): Promise<SampleRef> {
  const bytes = Buffer.from(text)
  const sample = { hash: hashOf(n), tokens: 1, bytes: bytes.length, crc32: crc32(bytes) }
  await spool.add({ ...sample, parts: [bytes] })
  return sample
}

export interface RigOptions {
  readonly work?: string
  readonly store?: ObjectStore
  readonly clock?: Clock
  readonly rule?: CommitRule
  readonly limits?: { readonly maxBytes: number; readonly keepFree: number }
  /** In place of the spool: what is made of it. */
  readonly around?: (spool: Spool) => Spool
  /** Bytes that the disk has free. */
  readonly free?: () => Promise<number>
  readonly retry?: ReadonlyMap<string, number>
}

export interface Rig {
  readonly ledger: Ledger
  readonly committer: Committer
  readonly manifest: Manifest
  readonly store: ObjectStore
  readonly spool: Spool
  readonly isThere: (sample: SampleRef) => boolean
  /** Sample `n`, computed and told by extractor/0. */
  readonly spooled: (n: number) => Promise<SampleRef>
  /** Leases one to `uploader` at once, where there is one. */
  readonly lease: (uploader?: string) => Promise<{ id: number; sample: SampleRef } | undefined>
}

export async function ledgerRig(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const { store = new MemoryStore(), clock = new HastyClock() } = options
  const { rule = { every: 1000, seconds: 1e6 }, around = (spool) => spool } = options
  const work = options.work ?? (await scratch(t))
  const spool = around(await openSpool(join(work, 'spool')))
  const manifest = openManifest(store, { writer: newWriterId(clock, seededRandom(1)), clock })
  const committer: Committer = new Committer({
    rule,
    clock,
    append: async (entries) => void (await manifest.append(entries)),
    committed: (entries) => ledger.committed(entries),
    // Whoever waits may not tell.
    failed: unexpected,
    kept: unexpected,
  })
  const room = new Room(
    options.limits ?? { maxBytes: 1e9, keepFree: 0 },
    new Grants(newGrants(['extractor/0', 'extractor/1', 'importer'])),
  )
  const { table } = manifest
  const free = options.free ? { free: options.free } : {}
  const { retry = new Map() } = options
  const guests = new Guests(work)
  const kept = { spool, guests, room, committer, ...free }
  const ledger = new Ledger({ generation: 1, table, retry, clock, log: silent, ...kept })
  return {
    ledger,
    committer,
    manifest,
    store,
    spool,
    isThere: (sample) => existsSync(spool.path(sample)),
    spooled: async (n) => {
      const sample = await spoolSample(spool, n)
      await ledger.spooled('extractor/0', [sample])
      return sample
    },
    lease: async (uploader = 'uploader/0') => {
      const next = await ledger.next(uploader, false)
      return next && { id: next.id, sample: next.item }
    },
  }
}

function unexpected(error: unknown): void {
  void Promise.reject(error)
}

/** What a new start reads of a store's manifest. */
export async function replayed(store: ObjectStore) {
  const writer = newWriterId(new HastyClock(), seededRandom(2))
  return await openManifest(store, { writer }).replay()
}

/** A line of the manifest that tells of no object, for tests to complete. */
export const line = (hash: string) => ({
  hash,
  key: null,
  offset: 0,
  length: 0,
  tokens: 4,
  crc32: 0,
  reason: null,
  attempt: 0,
})

/** What an earlier start has written. */
export async function told(store: ObjectStore, entries: readonly ManifestEntry[]): Promise<void> {
  const writer = newWriterId(new HastyClock(), Math.random)
  await openManifest(store, { writer }).append(entries)
}
