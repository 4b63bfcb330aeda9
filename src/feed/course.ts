/** From plan numbers to batches: all epochs of a training, without replaying what was read. */
import { seedFor } from '../shuffle.ts'
import type { OrderLog } from './order-log.ts'
import { type PackedBatch, packSamples } from './pack.ts'

/** A batch and its place in the training. */
export interface PlannedBatch extends PackedBatch {
  readonly plan: number
  readonly epoch: number
  readonly isLastOfEpoch: boolean
}

/** Packed batches whose plan numbers follow each other. */
interface Stretch {
  readonly first: number
  readonly batches: readonly PackedBatch[]
}

/** Epochs that are kept packed: while one ends, the next is read ahead. */
const keptEpochs = 2

/**
 * The first epoch goes through the log's groups in their order, each packed by itself, for they may
 * come one after the other; every later epoch mixes all that there is.
 */
export class Course {
  readonly log: OrderLog
  readonly epochs: number
  /** Of the first epoch, group by group. */
  readonly #groups: Stretch[] = []
  /** The last used of the later epochs, by their number. */
  readonly #later = new Map<number, readonly PackedBatch[]>()
  /** Of the epochs from 1 on, how many batches each has, as far as they were counted. */
  readonly #counts: number[] = []

  constructor(log: OrderLog, epochs: number) {
    this.log = log
    this.epochs = epochs
  }

  /**
   * `later`: it is not settled yet what comes there; `finished`: all epochs are over.
   *
   * @param plan  from 0
   */
  at(plan: number): PlannedBatch | 'later' | 'finished' {
    this.#packGroups()
    const end = this.#firstEpochEnd
    // Whether another follows in its epoch is not known of the last one, until the log is closed.
    if (!this.log.closed && plan >= end - 1) return 'later'
    if (plan < end) return placed(this.#groups[this.#groupOf(plan)], { plan, epoch: 0, end })
    let first = end
    for (let epoch = 1; epoch < this.epochs; epoch++) {
      const count = this.#count(epoch)
      const at = { plan, epoch, end: first + count }
      if (plan < at.end) return placed({ first, batches: this.#pack(epoch) }, at)
      first += count
    }
    return 'finished'
  }

  /** How many an epoch has; of the first one, as far as it is known. */
  batches(epoch: number): number {
    this.#packGroups()
    return epoch === 0 ? this.#firstEpochEnd : this.#count(epoch)
  }

  get #firstEpochEnd(): number {
    const last = this.#groups.at(-1)
    return last ? last.first + last.batches.length : 0
  }

  #packGroups(): void {
    const { log } = this
    for (let group = this.#groups.length; group < log.groups; group++) {
      const batches = this.#packRange(log.group(group), [0, group])
      this.#groups.push({ first: this.#firstEpochEnd, batches })
    }
  }

  #pack(epoch: number): readonly PackedBatch[] {
    const known = this.#later.get(epoch)
    const batches = known ?? this.#packRange({ start: 0, end: this.log.samples.count }, [epoch, 0])
    this.#later.delete(epoch)
    this.#later.set(epoch, batches)
    for (const oldest of this.#later.keys()) {
      if (this.#later.size > keptEpochs) this.#later.delete(oldest)
    }
    return batches
  }

  #packRange(
    { start, end }: { readonly start: number; readonly end: number },
    [epoch, group]: readonly [number, number],
  ): PackedBatch[] {
    const { rule, samples } = this.log
    const numbers = Uint32Array.from({ length: end - start }, (_, i) => start + i)
    const seed = seedFor(seedFor(rule.seed, epoch), group)
    return packSamples(numbers, samples.tokens(), { ...rule, seed })
  }

  #count(epoch: number): number {
    this.#counts[epoch] ??= this.#pack(epoch).length
    return this.#counts[epoch]
  }

  /** The last group that starts at or before the plan number. */
  #groupOf(plan: number): number {
    let [low, high] = [0, this.#groups.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#groups[middle].first <= plan) low = middle
      else high = middle - 1
    }
    return low
  }
}

const placed = (
  { first, batches }: Stretch,
  { plan, epoch, end }: { readonly plan: number; readonly epoch: number; readonly end: number },
): PlannedBatch => ({
  ...batches[plan - first],
  plan,
  epoch,
  isLastOfEpoch: plan === end - 1,
})
