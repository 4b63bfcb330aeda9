import { type Clock, sleep } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import type { Guests } from '../../src/spool/guests.ts'
import type { Committer } from './commit.ts'
import type { Room } from './room.ts'

/** How long a question for room waits for an answer. */
const askMs = 5000
const lookMs = 100
/** A thread that has ended may still have a write under way in the system. */
const settleMs = 1000
/** A store that is slower than the target keeps the spool full for days. */
const tellMs = 60_000

export interface AdmissionParts {
  readonly room: Room
  /** They make way for what is to be written. */
  readonly guests: Guests
  readonly clock: Clock
  readonly log: Log
  /** Bytes that the spool's disk has free now. */
  readonly free: () => Promise<number>
  readonly committer: Pick<Committer, 'bytes' | 'hurry' | 'waiting'>
  /** Samples in the spool that the store does not have yet. */
  readonly toSend: () => number
  /** Files that lie in the spool and were never told are taken for the spool's own. */
  readonly adopt: () => Promise<void>
}

/** Who writes into the spool asks here first, and waits here while it is full. */
export class Admission {
  readonly #parts: AdmissionParts
  /**
   * Those that ended with room granted, and when. What they wrote of it lies on the disk and was
   * not told: their grants stand for it until it is counted.
   */
  readonly #ended = new Map<string, number>()
  #counting: Promise<void> | undefined
  #full: string | null = null
  /** Waits since it was last told, and when that was. */
  #waits = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(parts: AdmissionParts) {
    this.#parts = parts
  }

  /** Why someone waits; null where nobody does. */
  get full(): string | null {
    return this.#full
  }

  /** True where there is room; waits for it a while. */
  async room(asker: string, bytes: number): Promise<boolean> {
    const { clock, room } = this.#parts
    const until = clock.now() + askMs
    for (;;) {
      await this.#countEnded(asker)
      const free = await this.#freed(bytes)
      const why = room.ask(asker, bytes, free)
      if (why === null) {
        this.#full = null
        return true
      }
      if (this.#full === null) this.#tell(why)
      this.#full = why
      this.#hurry(room.lacks(bytes, free))
      if (clock.now() >= until) return false
      await sleep(lookMs, clock)
    }
  }

  /** Once a minute at most, with how often it came to this. */
  #tell(why: string): void {
    const { clock, log } = this.#parts
    this.#waits++
    if (clock.now() - this.#toldAt < tellMs) return
    log.warn({ why, waits: this.#waits }, 'new samples wait for room in the spool')
    this.#waits = 0
    this.#toldAt = clock.now()
  }

  /** @returns  bytes that the disk has free, once guests have made way for what is to come */
  async #freed(bytes: number): Promise<number> {
    const { free, guests, room } = this.#parts
    const before = await free()
    const beside = await guests.bytes()
    const lacks = Math.min(beside, room.lacks(bytes, before, beside))
    if (lacks === 0) return before
    await guests.makeWay(lacks)
    return await free()
  }

  /**
   * What is stored lies in the spool until its commit, which need not wait for the clock where it
   * makes the room that lacks. But a spool may stay full for days, and many small segments cost
   * more than one: while more is still to be sent than waits for its commit, uploads have work.
   */
  #hurry(lacks: number): void {
    const { committer, toSend } = this.#parts
    const left = toSend()
    const helps = committer.bytes >= lacks && committer.waiting >= left
    if (left === 0 || helps) committer.hurry()
  }

  askerEnded(asker: string): void {
    if (this.#parts.room.has(asker)) this.#ended.set(asker, this.#parts.clock.now())
  }

  /** It writes nothing more of what it was granted, unless it asks again. */
  told(asker: string): void {
    if (!this.#ended.has(asker)) this.#parts.room.clear(asker)
  }

  /** One that asks again has certainly ended before; of others a little time is the proof. */
  async #countEnded(asker: string): Promise<void> {
    while (this.#counting) await this.#counting
    const before = this.#parts.clock.now() - settleMs
    const due = [...this.#ended].flatMap(([id, at]) => (id === asker || at <= before ? [id] : []))
    if (due.length === 0) return
    this.#counting = this.#count(due).finally(() => {
      this.#counting = undefined
    })
    await this.#counting
  }

  async #count(ended: readonly string[]): Promise<void> {
    await this.#parts.adopt()
    for (const asker of ended) {
      this.#ended.delete(asker)
      this.#parts.room.clear(asker)
    }
  }
}
