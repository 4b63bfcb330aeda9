import { Failure } from '../failure.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import type { StatesShape } from '../sample/shape.ts'
import type { PlannedBatch } from './course.ts'
import type { SampleData } from './open-sample.ts'
import type { Shape } from './shapes.ts'

/** What a trainer computes on, and how it is filled: one graph shape, samples in its rows. */

/** bf16 and f16 as their bits. */
export type States = Uint16Array<ArrayBuffer> | Float32Array<ArrayBuffer>

/** One of `rows`: a sample, not the padding. */
export interface TrainingRow {
  /** 32 hexadecimal digits. */
  readonly hash: string
  readonly tokens: number
}

/**
 * Samples packed to one graph shape [B, S]: sample i in row i, padded on the right; rows beyond the
 * samples are padding as a whole. At padding ids, mask and states are 0. Where everything planned
 * had to be left out there are no rows, and the shape is [0, 0]: nothing is to be computed.
 */
export interface TrainingBatch {
  /** Consecutive from 0 over all epochs; batches are consumed in this order. */
  readonly plan: number
  readonly epoch: number
  readonly rows: readonly TrainingRow[]
  readonly shape: Shape
  /** [B, S] */
  readonly tokenIds: BigInt64Array<ArrayBuffer>
  /** [B, S]: 1 where the token is trained on. */
  readonly lossMask: Uint8Array<ArrayBuffer>
  /** [B, S, layers, H], the target's layers in the order stored. */
  readonly hidden: States
  readonly dtype: StoredDType
  /** [B, S, H], after the target's final norm; absent where it was not captured. */
  readonly final?: States
  /** The data end here for now: a window of accumulation ends too, however full. */
  readonly isLastOfEpoch: boolean
}

/** What all samples of a run have in common. */
export interface StatesFormat extends Omit<StatesShape, 'tokens'> {
  /** The last of the captures is the state after the final norm. */
  readonly captureFinal: boolean
}

/** The buffers that a batch gives away with itself. */
export const buffersOf = (batch: TrainingBatch): ArrayBuffer[] =>
  [batch.tokenIds, batch.lossMask, batch.hidden, batch.final].flatMap((array) =>
    array ? [array.buffer] : [],
  )

const widthOf = (dtype: StoredDType): number => (dtype === 'f32' ? 4 : 2)

/** What a batch of this shape takes in memory. */
export const batchBytes = ({ rows, tokens }: Shape, format: StatesFormat): number =>
  rows * tokens * (8 + 1 + format.captures * format.hidden * widthOf(format.dtype))

/** All that one tensor may hold. */
const tensorBytesMax = 2 ** 32

/** @throws Failure `invalid`: no array can hold the states of a batch of so many tokens */
export function requireTensors(tokensPerBatch: number, format: StatesFormat): void {
  const bytes = tokensPerBatch * format.captures * format.hidden * widthOf(format.dtype)
  if (bytes <= tensorBytesMax) return
  const facts = `tokensPerBatch=${tokensPerBatch}, bytes=${bytes}, max=${tensorBytesMax}`
  throw new Failure('invalid', `a batch's hidden states are too large for one tensor. ${facts}`, {
    remedy: 'Lower train.tokensPerBatch; train.tokensPerStep is summed from several batches.',
  })
}

/** A batch being filled: samples may come in any order, and not all need to come. */
export class BatchUnderWay {
  readonly #planned: PlannedBatch
  readonly #format: StatesFormat
  readonly #tokenIds: BigInt64Array<ArrayBuffer>
  readonly #lossMask: Uint8Array<ArrayBuffer>
  readonly #hidden: Uint8Array<ArrayBuffer>
  readonly #final: Uint8Array<ArrayBuffer>
  readonly #placed: (TrainingRow | undefined)[]

  constructor(planned: PlannedBatch, format: StatesFormat) {
    this.#planned = planned
    this.#format = format
    const { rows, tokens } = planned.shape
    this.#tokenIds = new BigInt64Array(rows * tokens)
    this.#lossMask = new Uint8Array(rows * tokens)
    this.#hidden = new Uint8Array(rows * tokens * this.#layersBytes)
    this.#final = new Uint8Array(format.captureFinal ? rows * tokens * this.#stateBytes : 0)
    this.#placed = new Array(planned.samples.length)
  }

  /** @param at  the sample's place among those of the planned batch */
  place(at: number, row: TrainingRow, { ids, states, mask }: SampleData & { mask: Uint8Array }) {
    const start = at * this.#planned.shape.tokens
    this.#tokenIds.set(ids, start)
    this.#lossMask.set(mask, start)
    if (!this.#format.captureFinal) this.#hidden.set(states, start * this.#layersBytes)
    else this.#placeSplit(states, start)
    this.#placed[at] = row
  }

  finish(): TrainingBatch {
    const { plan, epoch, isLastOfEpoch, shape } = this.#planned
    const { captureFinal, dtype } = this.#format
    const rows = this.#closeGaps()
    const isEmpty = rows.length === 0
    const whole = ({ buffer }: { readonly buffer: ArrayBuffer }): ArrayBuffer =>
      isEmpty ? new ArrayBuffer() : buffer
    return {
      plan,
      epoch,
      rows,
      shape: isEmpty ? { rows: 0, tokens: 0 } : shape,
      tokenIds: new BigInt64Array(whole(this.#tokenIds)),
      lossMask: new Uint8Array(whole(this.#lossMask)),
      hidden: statesOver(whole(this.#hidden), dtype),
      dtype,
      ...(captureFinal && { final: statesOver(whole(this.#final), dtype) }),
      isLastOfEpoch,
    }
  }

  /** Of one token: one capture, and all layers. */
  get #stateBytes(): number {
    return this.#format.hidden * widthOf(this.#format.dtype)
  }

  get #layersBytes(): number {
    const { captures, captureFinal } = this.#format
    return this.#stateBytes * (captures - (captureFinal ? 1 : 0))
  }

  /** A file holds the final state of each token behind its layers. */
  #placeSplit(states: Uint8Array, start: number): void {
    const [layers, one] = [this.#layersBytes, this.#stateBytes]
    for (let from = 0, to = start; from < states.length; from += layers + one, to++) {
      this.#hidden.set(states.subarray(from, from + layers), to * layers)
      this.#final.set(states.subarray(from + layers, from + layers + one), to * one)
    }
  }

  /** Samples that did not come leave no gap among the rows. */
  #closeGaps(): TrainingRow[] {
    const rows: TrainingRow[] = []
    for (const [at, row] of this.#placed.entries()) {
      if (!row) continue
      if (at !== rows.length) this.#moveRow(at, rows.length)
      rows.push(row)
    }
    return rows
  }

  #moveRow(from: number, to: number): void {
    const { tokens } = this.#planned.shape
    const move = ({ buffer }: { readonly buffer: ArrayBuffer }, width: number) => {
      const bytes = new Uint8Array(buffer)
      const size = tokens * width
      bytes.copyWithin(to * size, from * size, (from + 1) * size)
      bytes.fill(0, from * size, (from + 1) * size)
    }
    move(this.#tokenIds, BigInt64Array.BYTES_PER_ELEMENT)
    move(this.#lossMask, 1)
    move(this.#hidden, this.#layersBytes)
    if (this.#format.captureFinal) move(this.#final, this.#stateBytes)
  }
}

const statesOver = (buffer: ArrayBuffer, dtype: StoredDType): States =>
  dtype === 'f32' ? new Float32Array(buffer) : new Uint16Array(buffer)
