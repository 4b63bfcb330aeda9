import type { Lease, ledgerContract, StoredWord } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import { type Clock, systemClock } from '../../src/clock.ts'

/** The longest that a word waits for others. */
const togetherMs = 10
/** Where so many lanes are busy or fewer, each word goes at once; of more, one in so many waits. */
const busyAlone = 12

/** A lane's word, and what it waits for. */
interface Word {
  readonly end: StoredWord['ends'][number]
  readonly wantsMore: boolean
  readonly resolve: (lease: Lease | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * What lanes have stored, told to the ledger several at a time while many are busy: the message,
 * the thread that it wakes and the answer cost a tenth of an upload (measured). A thread that dies
 * before its word has its samples sent again, under the same keys.
 */
export class StoredWords {
  readonly #ledger: Peer<typeof ledgerContract>
  readonly #busy: () => number
  readonly #clock: Clock
  #waiting: Word[] = []
  #timer: unknown

  /** @param busy  how many lanes have something to send */
  constructor(ledger: Peer<typeof ledgerContract>, busy: () => number, clock = systemClock) {
    this.#clock = clock
    this.#ledger = ledger
    this.#busy = busy
  }

  /** @returns  what to send next, where more is wanted and something waits for it now */
  tell(end: Word['end'], wantsMore: boolean): Promise<Lease | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ end, wantsMore, resolve, reject })
      if (this.#waiting.length > this.#busy() / busyAlone) this.#send()
      else this.#timer ??= this.#clock.setTimeout(() => this.#send(), togetherMs)
    })
  }

  #send(): void {
    this.#clock.clearTimeout(this.#timer)
    this.#timer = undefined
    const words = this.#waiting
    this.#waiting = []
    const want = words.filter(({ wantsMore }) => wantsMore).length
    const told = { ends: words.map(({ end }) => end), want }
    this.#ledger
      .again((ask) => ask.stored(told))
      .then(
        (leases) => {
          const left = leases.values()
          for (const word of words) word.resolve(word.wantsMore ? left.next().value : undefined)
        },
        (error: unknown) => {
          for (const word of words) word.reject(error)
        },
      )
  }
}
