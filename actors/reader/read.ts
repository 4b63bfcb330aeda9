import type { Settled } from '../../protocol/ledger.ts'
import type { NextBatch } from '../../protocol/reader.ts'
import type { Batch, QuarantinedSample } from '../../protocol/sample.ts'
import type { ReaderStatus, RowOutcome } from '../../protocol/source.ts'
import { type Clock, sleep } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import { probe } from '../../src/probe.ts'
import type { Claims } from '../../src/spool/claims.ts'
import { BatchLeases } from './leases.ts'
import { halves, type Missing, type PlannedBatches } from './planned.ts'

/** How long a question for work waits for an answer. */
const askMs = 5000
/** How often a question that waits looks again. */
const pollMs = 20
const pausedMs = 100
/** Batches read ahead, so that no extractor waits for the disk. */
const readAhead = 2
/** The longest this thread looks through the plan without letting a message in. */
const sliceMs = 20

export interface ReaderParts {
  readonly batches: PlannedBatches
  readonly rows: number
  readonly tokens: number
  readonly claims: Claims
  readonly clock: Clock
  readonly log: Log
  /** What the reader asks of the ledger. */
  readonly settled: () => Promise<Settled>
  readonly known: () => Promise<Uint8Array>
  readonly quarantined: (samples: readonly QuarantinedSample[]) => Promise<void>
}

/** Hands out the plan's batches, takes back those of extractors that died, and knows the end. */
export class Reader {
  readonly #parts: ReaderParts
  #next = 0
  /** What is computed once more, and how far that is read. */
  #again: Missing & { next: number } = { samples: new Set(), batches: [], next: 0 }
  #done = 0
  readonly #ready: Batch[] = []
  /**
   * Held at a death: they run when nothing else is left, so that one bad batch holds up no other,
   * and one at a time, so that no other is blamed for what it does.
   */
  readonly #suspects: Batch[] = []
  /** A single row each that ends its extractor: to be told as quarantined. */
  readonly #condemned: Batch[] = []
  readonly #leases: BatchLeases
  /** How often each holder has ended. */
  readonly #ends = new Map<string, number>()
  #reading: Promise<void> | undefined
  #settling: Promise<void> | undefined
  #state: 'reading' | 'paused' | 'draining' | 'finished' = 'reading'
  #outcome: RowOutcome | null = null

  constructor(parts: ReaderParts) {
    this.#parts = parts
    this.#leases = new BatchLeases(parts.claims)
  }

  async next(holder: string): Promise<NextBatch> {
    const { clock } = this.#parts
    const until = clock.now() + askMs
    const ends = this.#ends.get(holder)
    this.#leases.asks(holder)
    while (clock.now() < until) {
      // It ended while it waited: what it were lent now, nobody would ever give back.
      if (this.#ends.get(holder) !== ends) return { kind: 'later' }
      if (this.#state === 'finished') return { kind: 'finished' }
      if (this.#state === 'draining') return { kind: 'later' }
      const batch = this.#state === 'paused' ? undefined : this.#take()
      if (batch) return { kind: 'batch', batch: this.#lease(batch, holder) }
      await this.#moveOn(until - clock.now())
    }
    return { kind: 'later' }
  }

  done(id: string): void {
    if (this.#leases.done(id)) this.#done++
  }

  /** Its thread is gone: what it held goes to another, once its death is judged. */
  holderEnded(holder: string): void {
    this.#ends.set(holder, (this.#ends.get(holder) ?? 0) + 1)
    this.#leases.ended(holder)
  }

  get work(): string {
    if (this.#state !== 'reading') return this.#state
    return `${this.#leases.size} given out, ${this.#ready.length} ready`
  }

  /** A paused reader hands out nothing; what was handed out goes on. */
  pause(paused: boolean): void {
    if (paused && this.#state === 'reading') this.#state = 'paused'
    if (!paused && this.#state === 'paused') this.#state = 'reading'
  }

  /** No batch is handed out any more. */
  drain(): void {
    this.#state = 'draining'
  }

  status(): ReaderStatus {
    const { batches, rows, tokens, claims } = this.#parts
    const { examined } = batches
    return {
      of: 'rows',
      rows,
      tokens,
      examined: examined.rows,
      ...this.#doneSoFar(),
      found: examined.found,
      repeated: examined.repeated,
      skipped: Object.fromEntries(examined.skipped),
      batches: { planned: batches.planned, leased: this.#leases.size, done: this.#done },
      halved: claims.halved(),
      outcome: this.#outcome,
    }
  }

  /** What was examined, less the batches that are not done: those to be read again, too. */
  #doneSoFar(): { readonly rowsDone: number; readonly tokensDone: number } {
    const { examined } = this.#parts.batches
    let rowsDone = examined.rows
    let tokensDone = examined.tokens
    const { batches: leased } = this.#leases
    for (const batch of [...this.#ready, ...this.#suspects, ...this.#condemned, ...leased]) {
      rowsDone -= batch.rows.length
      tokensDone -= batch.tokenIds.length
    }
    for (const { rows, tokens } of this.#again.batches.slice(this.#again.next)) {
      rowsDone -= rows
      tokensDone -= tokens
    }
    return { rowsDone, tokensDone }
  }

  #lease(batch: Batch, holder: string): Batch {
    this.#leases.lend(batch, holder)
    probe('reader.lent')
    // A copy travels: ours is lent again if its holder dies.
    return { ...batch, tokenIds: batch.tokenIds.slice() }
  }

  #takeBackLost(): void {
    for (const batch of this.#leases.takeBack()) {
      // What is hunted stays the first: three that die in turn would look like a storm.
      if (this.#parts.claims.isSuspect(batch.id)) this.#suspects.unshift(batch)
      else this.#ready.unshift(batch)
    }
  }

  /** A batch that may run as it is, where one is ready. */
  #take(): Batch | undefined {
    this.#takeBackLost()
    for (let batch = this.#ready.shift(); batch; batch = this.#ready.shift()) {
      if (this.#moreToRead) void this.#readMore()
      if (this.#leases.adopts(batch)) continue
      if (!this.#parts.claims.isSuspect(batch.id)) return batch
      this.#suspects.push(batch)
    }
    return this.#moreToRead ? undefined : this.#takeSuspect()
  }

  /** Halves what has killed too often, down to the one row that does. */
  #takeSuspect(): Batch | undefined {
    if (this.#leases.size > 0) return undefined
    for (let batch = this.#suspects.shift(); batch; batch = this.#suspects.shift()) {
      if (this.#leases.adopts(batch)) return undefined
      const verdict = this.#parts.claims.verdict(batch.id, batch.rows.length)
      if (verdict === 'run') return batch
      if (verdict === 'halve') this.#suspects.unshift(...halves(batch))
      else this.#condemned.push(batch)
    }
    return undefined
  }

  /** What may bring a batch, or the end, where none is ready; no longer than `ms`. */
  async #moveOn(ms: number): Promise<void> {
    const { clock } = this.#parts
    const [condemned] = this.#condemned
    if (this.#state === 'paused') await sleep(pausedMs, clock)
    else if (this.#moreToRead) await this.#readMoreFor(ms)
    else if (condemned) await this.#quarantine(condemned)
    // Batches under way may come back; until then nothing is finished.
    else if (this.#leases.size > 0) await sleep(pollMs, clock)
    else await this.#settleOnce()
  }

  async #quarantine(batch: Batch): Promise<void> {
    const reason = 'it ended its extractor each time it was computed'
    await this.#parts.quarantined(
      batch.rows.filter((row) => row.wanted).map(({ hash, tokens }) => ({ hash, tokens, reason })),
    )
    // Of several that told it, the first; until then the batch was not at its end.
    const at = this.#condemned.indexOf(batch)
    if (at < 0) return
    this.#condemned.splice(at, 1)
    this.#parts.claims.quarantined(batch.id)
  }

  get #moreToRead(): boolean {
    return this.#reading !== undefined || this.#hasUnread
  }

  get #hasUnread(): boolean {
    const { batches, next } = this.#again
    return this.#next < this.#parts.batches.planned || next < batches.length
  }

  /** Through a long stretch of rows that are known, the one who asked is answered meanwhile. */
  async #readMoreFor(ms: number): Promise<void> {
    const enough = new AbortController()
    const late = sleep(ms, this.#parts.clock, enough.signal).catch(() => undefined)
    await Promise.race([this.#readMore(), late])
    enough.abort()
  }

  #readMore(): Promise<void> {
    this.#reading ??= this.#readUpTo(readAhead).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readUpTo(count: number): Promise<void> {
    const { clock } = this.#parts
    let sliceStart = clock.now()
    while (this.#ready.length < count && this.#hasUnread) {
      const batch = this.#readNext()
      if (batch) this.#ready.push(batch)
      if (clock.now() - sliceStart < sliceMs) continue
      await sleep(0, clock)
      sliceStart = clock.now()
    }
  }

  #readNext(): Batch | null {
    const { batches } = this.#parts
    if (this.#next < batches.planned) return batches.first(this.#next++)
    const again = this.#again
    return batches.again(again.batches[again.next++].index, again.samples)
  }

  #settleOnce(): Promise<void> {
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined
    })
    return this.#settling
  }

  /**
   * Everything was handed out and done. It is finished when every sample is accounted for; what is
   * not (a spooled file that was torn) is computed again.
   */
  async #settle(): Promise<void> {
    const { batches, known, log, settled } = this.#parts
    const { kind, quarantined, failed } = await settled()
    const left = this.#ready.length + this.#suspects.length + this.#condemned.length
    const allDone = !this.#moreToRead && left + this.#leases.size === 0
    if (kind !== 'settled' || !allDone) return
    const missing = batches.missing(await known(), failed)
    if (missing.samples.size > 0) {
      const samples = missing.samples.size
      log.warn({ samples }, 'some samples must be computed again')
      this.#again = { ...missing, next: 0 }
      return
    }
    this.#outcome = batches.outcome({ quarantined, failed })
    this.#state = 'finished'
  }
}
