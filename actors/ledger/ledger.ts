import { firstIdOf, LeaseBook, type Leased } from '../../protocol/lease-book.ts'
import type { LedgerStatus, Settled } from '../../protocol/ledger.ts'
import type { QuarantinedSample, SampleHash, SampleRef } from '../../protocol/sample.ts'
import { type Clock, sleep } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import type { ManifestEntry } from '../../src/manifest/entry.ts'
import type { EntryTable } from '../../src/manifest/table.ts'
import { probe } from '../../src/probe.ts'
import type { Guests } from '../../src/spool/guests.ts'
import { recoverSpool } from '../../src/spool/recover.ts'
import { freeBytes, type Spool } from '../../src/spool/spool.ts'
import { Admission } from './admission.ts'
import type { Committer } from './commit.ts'
import {
  endedHashes,
  isEnded,
  joined,
  quarantinedEntry,
  quarantinedHashes,
  type Retry,
  storedEntry,
  storedHashes,
} from './entries.ts'
import type { Room } from './room.ts'
import { SpooledTally, Tally } from './tallies.ts'

/** How long a question for work waits for an answer. */
const askMs = 5000
/** A few may be refused for themselves; so many in a row are refused for all. */
const refusalsMax = 100

export interface LedgerParts {
  /** Of this start: leases of an earlier one must never be taken for its own. */
  readonly generation: number
  readonly table: EntryTable
  readonly spool: Spool
  readonly room: Room
  readonly guests: Guests
  readonly committer: Committer
  /** Bytes that the disk has free now; default: what the system tells. */
  readonly free?: () => Promise<number>
  readonly retry: Retry
  readonly clock: Clock
  readonly log: Log
}

/**
 * Who knows where each finished sample is: spooled → leased to an uploader → stored → committed →
 * removed from the spool. Nothing is removed before a segment names it; all is removed after.
 */
export class Ledger {
  readonly #parts: LedgerParts
  readonly #uploads: LeaseBook<SampleRef>
  /** Every sample between its spooling and its commit. */
  readonly #pending = new Map<SampleHash, SampleRef>()
  /** Their files stay in the spool: the next run sends them again. */
  readonly #failed = new Map<SampleHash, { readonly sample: SampleRef; readonly reason: string }>()
  readonly #quarantined = new Set<SampleHash>()
  readonly #admission: Admission
  readonly #spooled = new SpooledTally()
  readonly #stored = new Tally()
  #lastStoreSuccess: number | null = null
  #busySince = 0
  #refusals = 0
  #lastReason = ''

  constructor(parts: LedgerParts) {
    this.#parts = parts
    this.#uploads = new LeaseBook(firstIdOf(parts.generation), parts.clock)
    const { clock, committer, guests, log, room, spool } = parts
    this.#admission = new Admission({
      ...{ room, guests, clock, log },
      free: parts.free ?? (() => freeBytes(spool.dir)),
      committer,
      toSend: () => this.#uploads.unsettled,
      adopt: () => this.#adopt(),
    })
  }

  /** What a crash left in the spool: committed long ago, or still to be sent. */
  async recovered(sample: SampleRef): Promise<void> {
    this.#parts.room.added(sample.bytes)
    await this.#keepOrRemove(sample)
  }

  known(): Uint8Array<ArrayBuffer> {
    const ended = endedHashes(this.#parts.table, this.#parts.retry)
    return joined(ended, [...this.#heldHashes(), ...this.#quarantined])
  }

  present(): Uint8Array<ArrayBuffer> {
    return joined(storedHashes(this.#parts.table), this.#heldHashes())
  }

  /** True where there is room; waits for it a while. */
  room(asker: string, bytes: number): Promise<boolean> {
    return this.#admission.room(asker, bytes)
  }

  async spooled(asker: string, samples: readonly SampleRef[]): Promise<void> {
    for (const sample of samples) {
      // Told twice: the same file, counted already.
      if (this.#held(sample.hash)?.crc32 === sample.crc32) continue
      this.#parts.room.added(sample.bytes, asker)
      if (await this.#keepOrRemove(sample)) this.#spooled.count(sample)
    }
    this.#admission.told(asker)
  }

  quarantined(samples: readonly QuarantinedSample[]): void {
    for (const sample of samples) {
      const { hash, tokens, reason } = sample
      const before = this.#parts.table.get(hash)
      // What was computed once, whatever happened later, is data.
      const ended = isEnded(before, this.#parts.retry) || this.#held(hash) !== undefined
      if (ended || this.#quarantined.has(hash)) continue
      this.#nowBusy()
      this.#quarantined.add(hash)
      this.#parts.log.warn({ hash, tokens, reason }, 'sample quarantined')
      this.#parts.committer.add(quarantinedEntry(sample, before))
    }
  }

  /** Undefined: nothing to send came. */
  next(uploader: string, wait: boolean): Promise<Leased<SampleRef> | undefined> {
    return this.#uploads.lease(uploader, wait ? askMs : 0)
  }

  /** The same, now; undefined: nothing waits to be sent. */
  take(uploader: string): Leased<SampleRef> | undefined {
    return this.#uploads.take(uploader)
  }

  wake(uploader: string): void {
    this.#uploads.wake(uploader)
  }

  stored(lease: number, key: string): void {
    this.#storeAnswered()
    const sample = this.#uploads.settle(lease)
    if (!sample) return
    this.#refusals = 0
    this.#stored.count(sample)
    probe('ledger.stored')
    this.#parts.committer.add(storedEntry(sample, key, this.#parts.table.get(sample.hash)))
  }

  unavailable(lease: number, reason: string): void {
    this.#parts.log.warn({ lease, reason }, 'upload goes back to the queue')
    this.#lastReason = `, the last try: ${reason}`
    this.#uploads.giveBack(lease)
  }

  failed(lease: number, reason: string): void {
    const sample = this.#uploads.settle(lease)
    if (!sample) return
    this.#pending.delete(sample.hash)
    this.#failed.set(sample.hash, { sample, reason })
    this.#refusals++
    this.#parts.log.error({ hash: sample.hash, reason }, 'the store will not take a sample')
  }

  async torn(lease: number, reason: string): Promise<void> {
    const sample = this.#uploads.settle(lease)
    if (!sample) return
    this.#parts.log.warn({ hash: sample.hash, reason }, 'torn file removed; its batch runs again')
    // First forgotten, as in `committed`: whoever tells meanwhile has written another, to be kept.
    this.#pending.delete(sample.hash)
    this.#spooled.torn(sample)
    await this.#remove(sample)
  }

  /** A segment names them: only now may their files go, and now they must. */
  async committed(entries: readonly ManifestEntry[]): Promise<void> {
    this.#storeAnswered()
    for (const entry of entries) {
      if (entry.status === 'quarantined') this.#quarantined.delete(entry.hash)
      // A file that came for a quarantined sample is still to be stored.
      const sample = entry.status === 'stored' && this.#pending.get(entry.hash)
      if (!sample) continue
      // First forgotten: whoever computed it again, and tells now, has his file removed too.
      this.#pending.delete(entry.hash)
      probe('ledger.before-remove')
      await this.#remove(sample)
      probe('ledger.removed')
    }
  }

  /** Its thread is gone: what it was to send goes to others, what it was to write is not coming. */
  askerEnded(asker: string): void {
    this.#uploads.holderEnded(asker)
    this.#admission.askerEnded(asker)
  }

  #storeAnswered(): void {
    this.#lastStoreSuccess = this.#parts.clock.now()
  }

  /** Waits a while until nothing is under way; then tells what did not end in the store. */
  async settled(): Promise<Settled> {
    const { clock, committer, table } = this.#parts
    const until = clock.now() + askMs
    while (this.busy) {
      if (clock.now() >= until) return { kind: 'later', quarantined: [], failed: [] }
      if (this.#uploads.unsettled === 0) committer.hurry()
      await sleep(20, clock)
    }
    const failed = [...this.#failed.keys()]
    // What was quarantined once, computed now and refused by the store, ends once: as failed.
    const quarantined = quarantinedHashes(table).filter((hash) => !this.#failed.has(hash))
    return { kind: 'settled', failed, quarantined }
  }

  /** Extractors have drained: a temporary file that is left is a killed one's. */
  async sweep(): Promise<void> {
    const { spool } = this.#parts
    for (const name of (await spool.list()).temps) await spool.discard(name)
  }

  /** Why the run cannot go on with this store; null where it can. */
  whyLost(deadlineMinutes: number): string | null {
    if (this.#refusals >= refusalsMax) {
      const last = [...this.#failed.values()].at(-1)
      return `the store refused ${this.#refusals} samples in a row, the last: ${last?.reason}`
    }
    if (!this.busy) {
      const stuck = this.#admission.full !== null && this.#failed.size > 0
      return stuck ? 'the spool is full of samples that the store refused' : null
    }
    const heard = Math.max(this.#lastStoreSuccess ?? 0, this.#busySince)
    if (this.#parts.clock.now() - heard < deadlineMinutes * 60_000) return null
    return `the store has taken nothing for ${deadlineMinutes} minutes${this.#lastReason}`
  }

  /** Something waits for the store. */
  get busy(): boolean {
    return this.#pending.size > 0 || this.#quarantined.size > 0
  }

  status(): Omit<LedgerStatus, 'permits' | 'gaveUp'> {
    const { table, room, committer } = this.#parts
    return {
      committed: table.stored,
      quarantined: table.quarantined,
      failed: [...this.#failed].map(([hash, { reason }]) => ({ hash, reason })),
      spooled: this.#spooled.sum,
      stored: this.#stored.sum,
      spool: { files: room.files, bytes: room.bytes, full: this.#admission.full },
      granted: room.granted,
      toSend: this.#uploads.unsettled,
      uploading: this.#uploads.leased,
      uncommitted: committer.waiting,
      segments: committer.segments,
      lastStoreSuccess: this.#lastStoreSuccess,
    }
  }

  /** Takes what was computed since this start, and whose writer ended before it told. */
  async #adopt(): Promise<void> {
    const isHeld = ({ hash, crc32 }: SampleRef) => this.#held(hash)?.crc32 === crc32
    const { good } = await recoverSpool(this.#parts.spool, { skip: isHeld })
    for (const sample of good) {
      // Told by a living writer meanwhile.
      if (isHeld(sample)) continue
      this.#parts.room.added(sample.bytes)
      if (await this.#keepOrRemove(sample)) this.#spooled.count(sample)
    }
  }

  /** False where another file of it is there, or was stored. */
  async #keepOrRemove(sample: SampleRef): Promise<boolean> {
    const committed = this.#parts.table.get(sample.hash)?.status === 'stored'
    if (committed || this.#held(sample.hash)) {
      await this.#remove(sample)
      return false
    }
    this.#nowBusy()
    this.#pending.set(sample.hash, sample)
    this.#uploads.add(sample)
    return true
  }

  /** The file in the spool that stands for the sample. */
  #held(hash: SampleHash): SampleRef | undefined {
    return this.#pending.get(hash) ?? this.#failed.get(hash)?.sample
  }

  #heldHashes(): SampleHash[] {
    return [...this.#pending.keys(), ...this.#failed.keys()]
  }

  #nowBusy(): void {
    if (!this.busy) this.#busySince = this.#parts.clock.now()
  }

  async #remove(sample: SampleRef): Promise<void> {
    await this.#parts.spool.remove(sample)
    this.#parts.room.removed(sample.bytes)
  }
}
