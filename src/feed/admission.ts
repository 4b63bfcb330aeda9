/** How an order log grows: by groups of samples that have come, until no more will. */
import type { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { Arrivals, Group } from './arrivals.ts'
import type { OrderFile } from './order-file.ts'
import type { OrderLog } from './order-log.ts'

export interface AdmissionParts {
  readonly order: OrderLog
  readonly arrivals: Arrivals
  readonly file: OrderFile
  readonly log: Log
  /** What to say where there is nothing to train on. */
  readonly nothing: () => Failure
  /** Throws where so many are fewer than were asked for. */
  readonly enough: (samples: number) => void
}

export class Admission {
  readonly #parts: AdmissionParts

  constructor(parts: AdmissionParts) {
    this.#parts = parts
  }

  /** Whether every sample that can be trained on has come to an end. */
  get isComplete(): boolean {
    return this.#parts.arrivals.complete
  }

  /** Whether no more will be admitted. */
  get isOver(): boolean {
    return this.#parts.order.closed
  }

  /**
   * Admits what has come, as soon as it fills two batches: the last batch that is known is not
   * given out before it is known what follows it.
   */
  some(): void {
    const { order, arrivals } = this.#parts
    const { shuffleWindow, tokensPerBatch } = order.rule
    const group = arrivals.waiting(shuffleWindow)
    const tokens = group.tokens.reduce((sum, some) => sum + some, 0)
    if (tokens >= 2 * tokensPerBatch || group.tokens.length === shuffleWindow) this.#admit(group)
  }

  /**
   * What has come by now is all that there will be.
   *
   * @throws  Failure: that of `nothing`, where there is none; of `enough`, where there are too few
   */
  all(): void {
    const { order, arrivals, enough, file, nothing } = this.#parts
    if (order.closed) return
    const group = arrivals.waiting(Number.POSITIVE_INFINITY)
    const samples = order.samples.count + group.tokens.length
    if (samples === 0) throw nothing()
    // Before anything is settled: when the rest is stored, all of it counts.
    enough(samples)
    if (group.tokens.length > 0) this.#admit(group)
    order.close((bytes) => file.append(bytes))
  }

  /** On the disk first: nobody is given a batch that a crash would make another. */
  #admit(group: Group): void {
    const { order, arrivals, file, log } = this.#parts
    order.admit(group.hashes, group.tokens, (bytes) => file.append(bytes))
    arrivals.admitted(group)
    const { length } = group.tokens
    log.info(
      { samples: length, inAll: order.samples.count },
      'samples are admitted to the training',
    )
  }
}
