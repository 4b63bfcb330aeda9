import type { ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import { permitsOf } from '../../protocol/permit.ts'
import { uploaderContract } from '../../protocol/uploader.ts'
import { systemClock } from '../../src/clock.ts'
import type { Config } from '../../src/config/schema.ts'
import { isFailure } from '../../src/failure.ts'
import type { Acquire } from '../../src/store/limited.ts'
import { Permits } from '../../src/store/permits.ts'
import type { Tree } from '../engine/tree.ts'
import { lanesOf, ledgerRequests, threadsOf } from '../storage.ts'

type Ledger = Peer<typeof ledgerContract>

/** Those of the tree that hold the run's permits, or work under them. */
interface Bound {
  readonly ledger: Ledger
  readonly acquire: Acquire
  readonly uploaders: ReadonlyMap<string, Peer<typeof uploaderContract>>
}

/**
 * How many requests to the store a run may have open, over all its threads. Before the tree and
 * after it, all permits are this thread's; while it lives they are the ledger's, less one that the
 * lock needs: it must beat while the ledger is away.
 */
export class RequestCap {
  #maxParallel: number
  readonly #threads: number
  readonly #own: Permits
  readonly #takeOwn: Acquire
  #bound: Bound | undefined

  constructor({ maxParallel, threads }: Config['upload'], clock = systemClock) {
    this.#maxParallel = maxParallel
    this.#threads = threadsOf({ threads })
    this.#own = new Permits(maxParallel, { clock })
    this.#takeOwn = this.#own.taker('supervisor', 'manifest')
  }

  /** For this thread's own requests. */
  readonly acquire: Acquire = () => {
    // Where there is but one permit for all, the lock too waits for the ledger.
    const { acquire = this.#takeOwn } = this.#lockHasPermit ? {} : (this.#bound ?? {})
    return acquire()
  }

  /** The tree's start: `ledger` is a client of its own. */
  handOver(tree: Tree, ledger: Ledger): void {
    const ids = Array.from({ length: this.#threads }, (_, i) => `uploader/${i}`)
    const uploaders = new Map(ids.map((id) => [id, tree.client(id, uploaderContract)]))
    this.#bound = { ledger, acquire: permitsOf(ledger, 'manifest'), uploaders }
    this.#own.setMax(1)
  }

  /** The tree's end: nobody else asks the store any more. */
  takeBack(): void {
    this.#bound = undefined
    this.#own.setMax(this.#maxParallel)
  }

  /** From now on; settles when all have been told. */
  async set(maxParallel: number): Promise<void> {
    this.#maxParallel = maxParallel
    if (!this.#bound) return this.#own.setMax(maxParallel)
    const ids = ['ledger', ...this.#bound.uploaders.keys()]
    await Promise.all(ids.map((id) => this.tell(id)))
  }

  /** One that has restarted knows only what the configuration said. */
  async tell(actor: string): Promise<void> {
    const upload = { maxParallel: this.#maxParallel, threads: this.#threads }
    try {
      if (actor === 'ledger')
        await this.#bound?.ledger.ask.setCap(ledgerRequests(this.#maxParallel))
      else await this.#bound?.uploaders.get(actor)?.ask.setLanes(lanesOf(upload))
    } catch (error) {
      // It is away: it is told when it is back.
      if (!isFailure(error, 'unavailable')) throw error
    }
  }

  get #lockHasPermit(): boolean {
    return ledgerRequests(this.#maxParallel) < this.#maxParallel
  }
}
