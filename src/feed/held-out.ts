/** What is held out of training, as batches: always in the same order, for figures that compare. */
import type { PlannedBatch } from './course.ts'
import { type LoadParts, loadBatch } from './load-batch.ts'
import { NumberedHashes } from './numbered-hashes.ts'
import type { OrderLog } from './order-log.ts'
import { packSamples } from './pack.ts'
import { Prefetch } from './prefetch.ts'
import { isHeldOut } from './split.ts'
import type { TrainableRows } from './trainable-rows.ts'
import { batchBytes, type TrainingBatch } from './training-batch.ts'

interface HeldOutParts extends LoadParts {
  readonly rows: TrainableRows
  readonly order: OrderLog
  /** Of batches that are read ahead. */
  readonly bytesMax: number
}

/** Of no epoch. */
const epoch = -1
const neverLate = new Promise<void>(() => undefined)

export class HeldOut {
  readonly #parts: HeldOutParts
  readonly #ahead: Prefetch<TrainingBatch>
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
    })
  }

  /**
   * The batch of this number, its `plan`; undefined past the last. The first one settles which
   * samples there are: those that are stored then. So does whichever is asked for first.
   */
  async take(batch: number): Promise<TrainingBatch | undefined> {
    if (batch === 0 || !this.#batches) this.#settle()
    return await this.#ahead.take(batch, neverLate)
  }

  /** Ends all that is being read. */
  stop(): void {
    this.#ahead.clear()
  }

  #settle(): void {
    const { order, rows, table } = this.#parts
    this.#ahead.clear()
    this.#samples = new NumberedHashes()
    rows.tokens.forEach((tokens, i) => {
      const bytes = rows.hashes.subarray(i * 16, i * 16 + 16)
      const hash = Buffer.from(bytes).toString('hex')
      if (!isHeldOut(order.split, hash) || table.get(hash)?.status !== 'stored') return
      this.#samples.add(bytes, Uint32Array.of(tokens))
    })
    const numbers = Uint32Array.from({ length: this.#samples.count }, (_, i) => i)
    const packed = packSamples(numbers, this.#samples.tokens(), { ...order.rule, seed: 0 })
    this.#batches = packed.map((one, plan) => {
      return { ...one, plan, epoch, isLastOfEpoch: plan === packed.length - 1 }
    })
  }
}
