import type { loaderContract } from '../../protocol/loader.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { FeedSize } from '../../src/feed/feed-size.ts'
import type { TrainingBatch } from '../../src/feed/training-batch.ts'

/** A training's data as its trainer asks for them: a loader that starts anew is begun anew. */
export class TrainingData {
  readonly #loader: Peer<typeof loaderContract>
  #training = ''
  /** What the loader goes on from; null: the training began with it. */
  #record: Uint8Array | null = null

  constructor(loader: Peer<typeof loaderContract>) {
    this.#loader = loader
  }

  /** @param record  from the checkpoint that is resumed; null: a new training */
  async begin(training: string, record: Uint8Array | null): Promise<FeedSize> {
    this.#training = training
    this.#record = record
    return await this.#begin()
  }

  /** The batch of this plan number. `later`: ask again; `finished`: all epochs are over. */
  async next(plan: number): Promise<TrainingBatch | 'later' | 'finished'> {
    const training = this.#training
    const told = await this.#begun(() => this.#loader.again((ask) => ask.next({ training, plan })))
    return told.kind === 'batch' ? told.batch : told.kind
  }

  /** What held-out samples are looked at, batch by batch; those without samples are left out. */
  async *heldOut(): AsyncGenerator<TrainingBatch> {
    const training = this.#training
    for (let batch = 0; ; batch++) {
      const told = await this.#begun(() =>
        this.#loader.again((ask) => ask.heldOut({ training, batch })),
      )
      if (told.kind === 'finished') return
      if (told.batch.rows.length > 0) yield told.batch
    }
  }

  /** The order of the data as far as it is settled, for a checkpoint. */
  async record(): Promise<Uint8Array> {
    const training = this.#training
    const { record } = await this.#begun(() =>
      this.#loader.again((ask) => ask.record({ training })),
    )
    return record
  }

  async #begun<T extends Told>(ask: () => Promise<T>): Promise<Begun<T>> {
    for (;;) {
      const told = await ask()
      if (isBegun(told)) return told
      await this.#begin()
    }
  }

  async #begin(): Promise<FeedSize> {
    const [training, record] = [this.#training, this.#record]
    return await this.#loader.again((ask) =>
      // A copy for each asking: it is transferred.
      ask.begin({ training, record: record && new Uint8Array(record) }),
    )
  }
}

interface Told {
  readonly kind: string
}
type Begun<T extends Told> = Exclude<T, { readonly kind: 'unbegun' }>

const isBegun = <T extends Told>(told: T): told is Begun<T> => told.kind !== 'unbegun'
