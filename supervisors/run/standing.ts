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
  #state: 'idle' | 'asking' = 'idle'

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
  async ask({ ledger, source }: Asked): Promise<readonly RunEvent[]> {
    if (this.#state === 'asking') return []
    this.#state = 'asking'
    try {
      this.#ledger = this.#counted(await ledger.ask.status())
      this.#source = await source.ask.status()
      this.#speeds.note(this.#source, this.#ledger, Date.now())
      return judge(this.#source, this.#ledger)
    } catch (error) {
      // An actor is away for a moment; the supervisor knows.
      if (!isFailure(error, 'unavailable')) throw error
      return []
    } finally {
      this.#state = 'idle'
    }
  }

  #counted(ledger: LedgerStatus): LedgerStatus {
    this.#spooled.note(ledger.spooled)
    this.#stored.note(ledger.stored)
    return { ...ledger, spooled: this.#spooled.all, stored: this.#stored.all }
  }
}
