import type { Lease, ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { SampleRef } from '../../protocol/sample.ts'
import type { Uploaded } from './upload.ts'

/** So many uploads at once; each lane asks for one, sends it, tells, and asks again. */
export class Lanes {
  readonly #ledger: Peer<typeof ledgerContract>
  readonly #upload: (sample: SampleRef) => Promise<Uploaded>
  readonly #drain = new AbortController()
  readonly #lanes = new Set<Promise<void>>()
  #wanted = 0
  #busy = 0

  constructor(
    ledger: Peer<typeof ledgerContract>,
    upload: (sample: SampleRef) => Promise<Uploaded>,
  ) {
    this.#ledger = ledger
    this.#upload = upload
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
    while (this.#lanes.size < count && !this.#drain.signal.aborted) {
      const lane: Promise<void> = this.#run(() => this.#lanes.delete(lane))
      this.#lanes.add(lane)
    }
  }

  /** Settles when nothing is left to send: whoever spools has drained before. */
  async drain(): Promise<void> {
    this.#drain.abort()
    await this.#ledger.again((ask) => ask.wake())
    await Promise.all(this.#lanes)
  }

  async #run(ends: () => void): Promise<void> {
    for (;;) {
      const draining = this.#drain.signal.aborted
      const next = await this.#ledger.again((ask) => ask.next({ wait: !draining }))
      if (next.kind === 'lease') await this.#send(next.lease)
      else if (draining) return
      if (this.#lanes.size > this.#wanted) return ends()
    }
  }

  async #send({ id: lease, sample }: Lease): Promise<void> {
    this.#busy++
    const uploaded = await this.#upload(sample)
    this.#busy--
    // To a ledger that has restarted, this lease says nothing: it leases the sample anew.
    await this.#ledger.again((ask) => {
      if (uploaded.kind === 'stored') return ask.stored({ lease, key: uploaded.key })
      const told = { lease, reason: uploaded.reason }
      if (uploaded.kind === 'torn') return ask.torn(told)
      return uploaded.kind === 'failed' ? ask.failed(told) : ask.unavailable(told)
    })
  }
}
