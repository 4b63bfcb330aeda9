import type { Speed } from '../../protocol/console.ts'
import type { LedgerStatus, ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { SourceStatus, sourceContract } from '../../protocol/source.ts'
import { isFailure } from '../../src/failure.ts'
import { judge } from './judge.ts'
import type { RunEvent } from './machine.ts'
import { Counted, Speeds } from './status.ts'

/** Those that know how far the work is, as this thread asks them. */
export interface Asked {
  readonly ledger: Peer<typeof ledgerContract>
  readonly source: Peer<typeof sourceContract>
}

/** Where the work stands: what source and ledger told when they were asked last. */
export class Standing {
  readonly #speeds = new Speeds()
  readonly #spooled = new Counted()
  readonly #stored = new Counted()
  #source: SourceStatus | null = null
  #ledger: LedgerStatus | null = null
  /** What was asked last, until it is answered. */
  #underWay: Promise<readonly RunEvent[]> | undefined

  get source(): SourceStatus | null {
    return this.#source
  }

  get ledger(): LedgerStatus | null {
    return this.#ledger
  }

  get speed(): Speed {
    return this.#speeds.read()
  }

  /**
   * Asks both, and nobody while they are being asked.
   *
   * @returns  what their words mean for the run, in the order it is to hear of it
   */
  async ask(asked: Asked): Promise<readonly RunEvent[]> {
    return this.#underWay ? [] : await this.askAnew(asked)
  }

  /**
   * As `ask`, also while they are being asked: what they answer to that may be older than what the
   * caller wants to hear of. Answers come in the order of the questions.
   */
  async askAnew(asked: Asked): Promise<readonly RunEvent[]> {
    const asking = this.#hear(asked)
    this.#underWay = asking
    try {
      return await asking
    } finally {
      if (this.#underWay === asking) this.#underWay = undefined
    }
  }

  async #hear({ ledger, source }: Asked): Promise<readonly RunEvent[]> {
    try {
      this.#ledger = this.#counted(await ledger.ask.status())
      this.#source = await source.ask.status()
      this.#speeds.note(this.#source, this.#ledger, Date.now())
      return judge(this.#source, this.#ledger)
    } catch (error) {
      // An actor is away for a moment; the supervisor knows.
      if (!isFailure(error, 'unavailable')) throw error
      return []
    }
  }

  #counted(ledger: LedgerStatus): LedgerStatus {
    this.#spooled.note(ledger.spooled)
    this.#stored.note(ledger.stored)
    return { ...ledger, spooled: this.#spooled.all, stored: this.#stored.all }
  }
}
