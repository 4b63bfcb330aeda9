/**
 * What is held out of training, as batches: so many samples, always the same ones in the same
 * order, for figures that compare.
 */
import type { PlannedBatch } from './course.ts'
import { type LoadParts, loadBatch } from './load-batch.ts'
import { NumberedHashes } from './numbered-hashes.ts'
import type { OrderLog } from './order-log.ts'
import { packSamples } from './pack.ts'
import { Prefetch } from './prefetch.ts'
import type { ReadBudget } from './read-budget.ts'
import { heldOutInOrder } from './split.ts'
import type { TrainableRows } from './trainable-rows.ts'
import { batchBytes, type TrainingBatch } from './training-batch.ts'

interface HeldOutParts extends LoadParts {
  readonly rows: TrainableRows
  readonly order: OrderLog
  /** So many of the samples stand for all; null: all of them. */
  readonly heldOutSamples: number | null
  /** Of batches that are read ahead. */
  readonly bytesMax: number
  readonly budget: ReadBudget
}

/** Of no epoch. */
const epoch = -1
/** One for each question: a promise that never settles keeps what was ever waited for beside it. */
const neverLate = () => new Promise<void>(() => undefined)

export class HeldOut {
  readonly #parts: HeldOutParts
  readonly #ahead: Prefetch<TrainingBatch>
  /** Numbers of the rows that are held out, in the order of the split: it never changes. */
  #ranked: Uint32Array | undefined
  #samples = new NumberedHashes()
  /** Undefined until it is settled which samples there are. */
  #batches: readonly PlannedBatch[] | undefined

  constructor(parts: HeldOutParts) {
    this.#parts = parts
    this.#ahead = new Prefetch({
      load: async (batch, signal) => {
        const planned = this.#batches?.[batch]
        if (!planned) throw new Error(`no such held-out batch. batch=${batch}`)
        return await loadBatch(planned, this.#samples, { ...parts, signal })
      },
      bytesOf: (batch) => {
        const planned = this.#batches?.[batch]
        return planned && batchBytes(planned.shape, parts.format)
      },
      bytesMax: parts.bytesMax,
      budget: parts.budget,
    })
  }

  /**
   * The batch of this number, its `plan`; undefined past the last. The first one settles which
   * samples there are: those that are stored then. So does whichever is asked for first.
   */
  async take(batch: number): Promise<TrainingBatch | undefined> {
    if (batch === 0 || !this.#batches) this.#settle()
    return await this.#ahead.take(batch, neverLate())
  }

  /** Ends all that is being read. */
  stop(): void {
    this.#ahead.clear()
  }

  #settle(): void {
    const { order, rows } = this.#parts
    this.#ahead.clear()
    this.#samples = new NumberedHashes()
    for (const row of this.#chosen()) {
      this.#samples.add(hashAt(rows, row), Uint32Array.of(rows.tokens[row]))
    }
    const numbers = Uint32Array.from({ length: this.#samples.count }, (_, i) => i)
    const packed = packSamples(numbers, this.#samples.tokens(), { ...order.rule, seed: 0 })
    this.#batches = packed.map((one, plan) => {
      return { ...one, plan, epoch, isLastOfEpoch: plan === packed.length - 1 }
    })
  }

  /**
   * While more is still to be stored, the first ones of all: those of them that are there. Once no
   * more comes, the first ones of what is there.
   */
  #chosen(): Uint32Array {
    const { heldOutSamples, order, rows, table } = this.#parts
    this.#ranked ??= heldOutInOrder(rows.hashes, order.split)
    const isStored = (row: number) =>
      table.get(hashAt(rows, row).toString('hex'))?.status === 'stored'
    const most = heldOutSamples ?? this.#ranked.length
    if (order.closed) return this.#ranked.filter(isStored).slice(0, most)
    return this.#ranked.slice(0, most).filter(isStored)
  }
}

const hashAt = ({ hashes }: TrainableRows, row: number): Buffer =>
  Buffer.from(hashes.buffer, hashes.byteOffset + row * 16, 16)
