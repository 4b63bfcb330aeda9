/**
 * The data of a training: batches by their plan numbers, of the samples that the manifest names.
 * Which samples a batch has follows from the order log alone; this reads them ahead, within a
 * bound, and lets the log grow while extraction still runs.
 */
import { sleep } from '../clock.ts'
import { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { Manifest } from '../manifest/log.ts'
import { Admission } from './admission.ts'
import { Arrivals } from './arrivals.ts'
import { Course, type PlannedBatch } from './course.ts'
import { type FeedSize, feedSize, nothingToTrainOn, requireEnough } from './feed-size.ts'
import { Following, type FollowingParts } from './following.ts'
import { HeldOut } from './held-out.ts'
import { type LoadParts, loadBatch } from './load-batch.ts'
import type { OrderFile } from './order-file.ts'
import { OrderLog } from './order-log.ts'
import { Prefetch } from './prefetch.ts'
import { ReadBudget } from './read-budget.ts'
import { startLog, type WantedOrder } from './start-log.ts'
import type { TrainableRows } from './trainable-rows.ts'
import { batchBytes, type TrainingBatch } from './training-batch.ts'

/** How long a question for a batch waits for its answer. */
const askMs = 5000
const pollMs = 500
/** With fewer batches than these before its end, the log is to grow. */
const batchesAhead = 8
/** So many batches in a row of which nothing could be used, and it is not the samples' fault. */
const barrenMax = 3

export interface FeedParts extends Omit<LoadParts, 'rows' | 'table'>, FollowingParts {
  readonly rows: TrainableRows
  readonly manifest: Pick<Manifest, 'table' | 'replay'>
  readonly wanted: WantedOrder
  readonly epochs: number
  /** Fewer to train on are refused; null: any number will do. */
  readonly samplesMin: number | null
  readonly file: OrderFile
  /** Held-out samples that are looked at; null: all. */
  readonly heldOutSamples: number | null
  /** Of all batches, held-out ones too, that are under way or wait to be asked for. */
  readonly bytesMax: number
  readonly log: Log
}

export interface FeedStatus {
  readonly training: string | null
  /** Admitted so far. */
  readonly samples: number
  /** Whether more may come. */
  readonly isFollowing: boolean
  /** Batches that are under way, or wait to be asked for. */
  readonly ahead: { readonly batches: number; readonly bytes: number }
}

/** `later`: none yet, though there will be one. */
export type Fed = TrainingBatch | 'later' | 'finished' | 'unbegun'

interface Begun {
  readonly course: Course
  readonly admission: Admission
  readonly ahead: Prefetch<TrainingBatch>
  readonly heldOut: HeldOut
}

export class DataFeed {
  readonly #parts: FeedParts
  readonly #following: Following
  readonly #budget: ReadBudget
  #begun: Begun | undefined
  #beginning: Promise<unknown> = Promise.resolve()
  readonly #stopped = new AbortController()
  #barren = 0

  constructor(parts: FeedParts) {
    this.#parts = parts
    this.#following = new Following(parts)
    this.#budget = new ReadBudget(parts.bytesMax)
  }

  /** The training that is served; null before `begin`. */
  get training(): string | null {
    return this.#begun?.course.log.training ?? null
  }

  /**
   * Goes on where a training was, or begins one. Idempotent.
   *
   * @param record  what `record` gave, from the checkpoint that is resumed; null: a new training
   * @throws        Failure `invalid`: nothing to train on, or begun with another configuration;
   *                `corrupt`: the record is damaged; as the manifest says
   */
  async begin(training: string, record: Uint8Array | null): Promise<FeedSize> {
    const size = this.#beginning.then(() => this.#begin(training, record))
    this.#beginning = size.catch(() => undefined)
    return await size
  }

  /** @throws  Failure: as the store or the manifest says; `corrupt`: batch after batch is empty */
  async next(plan: number): Promise<Fed> {
    if (this.#stopped.signal.aborted) return 'later'
    if (!this.#begun) return 'unbegun'
    const enough = new AbortController()
    const over = AbortSignal.any([enough.signal, this.#stopped.signal])
    const late = sleep(askMs, this.#parts.clock, over).catch(() => undefined)
    try {
      return await this.#next(this.#begun, plan, late)
    } finally {
      enough.abort()
    }
  }

  /** A batch of what is held out, by its number; undefined past the last. */
  async heldOut(batch: number): Promise<TrainingBatch | undefined> {
    return await this.#required.heldOut.take(batch)
  }

  /** All that a resume needs: to be kept with the checkpoint. */
  record(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#required.course.log.encode())
  }

  /** The run that was followed has ended: what is stored when the manifest is read next is all. */
  extractionEnded(): void {
    this.#following.ended()
  }

  /** Whether the run that is followed may still spool new samples. */
  get isFollowed(): boolean {
    return this.#following.isOn
  }

  /** Ends all that is being read; whoever asks from now on is told `later`. */
  stop(): void {
    this.#stopped.abort()
    this.#following.stop()
    this.#begun?.ahead.clear()
    this.#begun?.heldOut.stop()
  }

  get work(): string {
    const { ahead, samples } = this.status()
    return `${samples} samples, ${ahead.batches} batches read ahead`
  }

  status(): FeedStatus {
    const { ahead, course } = this.#begun ?? {}
    return {
      training: this.training,
      samples: course?.log.samples.count ?? 0,
      isFollowing: course?.log.closed === false,
      ahead: { batches: ahead?.batches ?? 0, bytes: ahead?.bytes ?? 0 },
    }
  }

  get #required(): Begun {
    if (this.#begun) return this.#begun
    throw new Error('no training has begun')
  }

  async #begin(training: string, record: Uint8Array | null): Promise<FeedSize> {
    const { file, log, rows, wanted } = this.#parts
    const given = record ? OrderLog.decode(record) : undefined
    const here = this.#begun?.course.log ?? file.read(log)
    // Before any share of them is held out: of none, none is too many.
    if (rows.count === 0) throw nothingToTrainOn(rows, this.#parts.manifest.table)
    const order = startLog({ training, given, here }, wanted, () => rows.hashes)
    const begun = order === this.#begun?.course.log ? this.#begun : this.#open(order)
    if (!order.closed) await this.#following.lookNow(begun.admission)
    if (begun !== this.#begun) {
      this.#begun?.ahead.clear()
      this.#begun?.heldOut.stop()
    }
    this.#begun = begun
    return await feedSize(begun.course, rows)
  }

  async #next(begun: Begun, plan: number, late: Promise<void>): Promise<Fed> {
    const { course, ahead, admission } = begun
    const lateness = late.then(() => 'late' as const)
    // So early that the next ones are read while this one is computed.
    if (course.at(plan + batchesAhead) === 'later') {
      this.#following.look(admission).catch(() => undefined)
    }
    while (course.at(plan) === 'later') {
      const end = await Promise.race([this.#following.look(admission), lateness])
      const isSettled = course.at(plan) !== 'later'
      if (end === 'late' && !isSettled) return 'later'
      if (!isSettled) await Promise.race([sleep(pollMs, this.#parts.clock), lateness])
    }
    const at = course.at(plan)
    return typeof at === 'string' ? at : ((await ahead.take(plan, late)) ?? 'later')
  }

  #open(order: OrderLog): Begun {
    const { epochs, follows, format, bytesMax, file, log, manifest, rows } = this.#parts
    file.write(order)
    const course = new Course(order, epochs)
    const plannedAt = (plan: number): PlannedBatch | undefined => {
      const at = course.at(plan)
      return typeof at === 'string' ? undefined : at
    }
    const parts = { ...this.#parts, budget: this.#budget, table: manifest.table }
    // While a look is under way nothing is asked for beside it: a part of the room will do.
    const heldOutBytes = order.split === null ? 0 : bytesMax / 8
    const ahead = new Prefetch<TrainingBatch>({
      load: async (plan, signal) => {
        const planned = plannedAt(plan)
        if (!planned) throw new Error(`no such batch. plan=${plan}`)
        return this.#fruitful(await loadBatch(planned, order.samples, { ...parts, signal }))
      },
      bytesOf: (plan) => {
        const planned = plannedAt(plan)
        return planned && batchBytes(planned.shape, format)
      },
      budget: this.#budget,
      bytesMax: bytesMax - heldOutBytes,
    })
    const arrivals = new Arrivals(manifest.table, rows, order)
    const nothing = () => nothingToTrainOn(rows, manifest.table)
    const enough = (samples: number) =>
      follows ? undefined : requireEnough(samples, { ...this.#parts, table: manifest.table })
    const admission = new Admission({ order, arrivals, file, log, nothing, enough })
    const heldOut = new HeldOut({ ...parts, order, bytesMax: heldOutBytes })
    return { course, admission, ahead, heldOut }
  }

  /** A store that has lost all would otherwise be trained on to the end, in silence. */
  #fruitful(batch: TrainingBatch): TrainingBatch {
    this.#barren = batch.rows.length === 0 ? this.#barren + 1 : 0
    if (this.#barren < barrenMax) return batch
    const last = this.#parts.leftOut.latest.at(-1)
    const facts = `batches=${this.#barren}, last hash=${last?.hash}, reason=${last?.reason}`
    throw new Failure('corrupt', `no sample could be used, batch after batch. ${facts}`, {
      remedy: 'See `draftsmith verify`: the store may have lost its samples.',
    })
  }
}
