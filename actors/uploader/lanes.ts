import type { Lease, ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { SampleRef } from '../../protocol/sample.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { PermitsInHand } from './permits-in-hand.ts'
import type { Uploaded } from './upload.ts'
import { StoredWords } from './words.ts'

export interface LaneTools {
  readonly upload: (sample: SampleRef) => Promise<Uploaded>
  readonly permits: Pick<PermitsInHand, 'put' | 'take'>
  readonly clock?: Clock
}

/** A lease that is over, and a permit to go back with the word of it. */
interface Sent {
  readonly lease: number
  readonly permit: number | null
  readonly uploaded: Uploaded
}

/** Whether a lane that has sent something asks for more, and waits until there is some. */
type More = 'wait' | 'now' | 'none'

/** So many uploads at once; each lane asks for one, sends it, and tells as it asks again. */
export class Lanes {
  readonly #ledger: Peer<typeof ledgerContract>
  readonly #tools: LaneTools
  readonly #words: StoredWords
  readonly #drain = new AbortController()
  readonly #lanes = new Set<Promise<void>>()
  #wanted = 0
  /** Lanes that go on when they have sent what they hold. */
  #going = 0
  #busy = 0

  constructor(ledger: Peer<typeof ledgerContract>, tools: LaneTools) {
    this.#ledger = ledger
    this.#tools = tools
    this.#words = new StoredWords(ledger, () => this.#busy, tools.clock ?? systemClock)
  }

  get count(): number {
    return this.#wanted
  }

  /** Lanes that have something to send. */
  get busy(): number {
    return this.#busy
  }

  /** So many from now on; those beyond end when they have sent what they hold. */
  resize(count: number): void {
    this.#wanted = count
    for (; this.#going < count && !this.#drain.signal.aborted; this.#going++) {
      const lane: Promise<void> = this.#run().finally(() => this.#lanes.delete(lane))
      this.#lanes.add(lane)
    }
  }

  /** Settles when nothing is left to send: whoever spools has drained before. */
  async drain(): Promise<void> {
    this.#drain.abort()
    await this.#ledger.again((ask) => ask.wake())
    await Promise.all(this.#lanes)
  }

  async #run(): Promise<void> {
    let sent: Sent | undefined
    for (;;) {
      const more = this.#more()
      const lease = await this.#tell(sent, more)
      sent = lease && (await this.#send(lease))
      if (!sent && more !== 'wait') return
    }
  }

  #more(): More {
    if (this.#going > this.#wanted) {
      this.#going--
      return 'none'
    }
    return this.#drain.signal.aborted ? 'now' : 'wait'
  }

  /**
   * What comes next, or nothing. To a ledger that has restarted, a lease says nothing: it leases
   * the sample anew.
   */
  async #tell(sent: Sent | undefined, more: More): Promise<Lease | undefined> {
    if (sent?.uploaded.kind === 'stored') {
      const { lease, permit, uploaded } = sent
      return await this.#words.tell({ lease, permit, key: uploaded.key }, more !== 'none')
    }
    if (sent) {
      const { lease, permit, uploaded } = sent
      const told = { lease, permit, reason: uploaded.reason }
      await this.#ledger.again((ask) => {
        if (uploaded.kind === 'torn') return ask.torn(told)
        return uploaded.kind === 'failed' ? ask.failed(told) : ask.unavailable(told)
      })
    }
    if (more === 'none') return undefined
    const next = await this.#ledger.again((ask) => ask.next({ wait: more === 'wait' }))
    return next.kind === 'lease' ? next.lease : undefined
  }

  async #send({ id: lease, sample, permit }: Lease): Promise<Sent> {
    this.#tools.permits.put(permit)
    this.#busy++
    const uploaded = await this.#tools.upload(sample)
    this.#busy--
    return { lease, permit: this.#tools.permits.take(), uploaded }
  }
}
