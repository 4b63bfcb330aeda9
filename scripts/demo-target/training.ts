/** Trains the demo's target, and can go on where an earlier start was stopped. */
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { seededRandom } from '../../src/clock.ts'
import type { TargetConfig } from '../../src/models/config.ts'
import { spread } from '../../src/models/spread.ts'
import { Adamw } from '../../src/optim/adamw.ts'
import { FlatTensors, type NamedShape, type Region } from '../../src/optim/flat.ts'
import { lrSchedule } from '../../src/optim/schedule.ts'
import { openSafetensors, readTensor } from '../../src/safetensors/read.ts'
import { encodeSafetensors } from '../../src/safetensors/write.ts'
import type { Feeds } from '../../src/session/feed.ts'
import { openTrainingSession, type TrainingSession } from '../../src/session/training-session.ts'
import { causalGraph, type RowsShape } from './graph.ts'
import type { Rows } from './text.ts'

export interface TrainingOptions {
  readonly config: TargetConfig
  readonly shape: RowsShape
  /** A file: what a later start goes on from. */
  readonly state: string
  readonly threads: number
  readonly steps: number
  readonly lr: number
  readonly seed: number
}

const kept = ['parameters', 'firstMoments', 'secondMoments'] as const satisfies readonly Region[]

export class Training {
  readonly tensors: readonly NamedShape[]
  readonly #options: TrainingOptions
  readonly #flat: FlatTensors
  readonly #adamw: Adamw
  readonly #learning: TrainingSession
  readonly #reading: TrainingSession
  readonly #lr: (step: number) => number

  static async open(options: TrainingOptions): Promise<Training> {
    const { config, shape, threads } = options
    const at = { device: 'cpu', threads }
    const { graph, parameters } = causalGraph(config, shape, { trains: true })
    const learning = await openTrainingSession(graph, at)
    const reading = await openTrainingSession(
      causalGraph(config, shape, { trains: false }).graph,
      at,
    )
    const tensors = parameters.map(({ name, shape }) => ({ name, shape: shape.map(Number) }))
    const flat = new FlatTensors(tensors)
    const steps = await restored(flat, options)
    return new Training({ options, tensors, flat, learning, reading, steps })
  }

  private constructor(made: {
    readonly options: TrainingOptions
    readonly tensors: readonly NamedShape[]
    readonly flat: FlatTensors
    readonly learning: TrainingSession
    readonly reading: TrainingSession
    readonly steps: number
  }) {
    this.tensors = made.tensors
    this.#options = made.options
    this.#flat = made.flat
    this.#learning = made.learning
    this.#reading = made.reading
    this.#adamw = new Adamw(
      made.flat,
      {
        betas: [0.9, 0.98],
        epsilon: 1e-8,
        weightDecay: 0.05,
        clip: 1,
        decayExclude: ['norm.weight'],
      },
      made.steps,
    )
    this.#lr = lrSchedule({
      schedule: 'wsd',
      lr: made.options.lr,
      minLr: made.options.lr / 50,
      steps: made.options.steps,
      warmup: 0.03,
      warmupFrom: 'one-step',
      decayShare: 0.35,
    })
  }

  /** Steps done. */
  get steps(): number {
    return this.#adamw.steps
  }

  parameters = (name: string): Float32Array => this.#flat.view('parameters', name)

  /** @returns  the loss before the step */
  async step(rows: Rows): Promise<number> {
    const found = placesFor(rows)
    const gradients = this.#feeds('gradients', (name) => `grad:${name}`)
    await this.#learning.run(this.#with(rows), { ...found, ...gradients })
    const value = Number(found.loss.data[0])
    const stepped = this.#adamw.step({ lr: this.#lr(this.steps), loss: value })
    if (stepped.state === 'skipped') throw new Error(`step is not finite. step=${this.steps}`)
    return value
  }

  /** What the model makes of rows, nothing learnt. */
  async read(rows: Rows): Promise<Found> {
    const found = placesFor(rows)
    await this.#reading.run(this.#with(rows), found)
    return found
  }

  save(): void {
    const path = this.#options.state
    const bytes = (view: Float32Array) =>
      new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    const parts = encodeSafetensors(
      kept.flatMap((region) =>
        this.tensors.map(({ name, shape }) => ({
          name: `${region}:${name}`,
          dtype: 'F32' as const,
          shape,
          data: bytes(this.#flat.view(region, name)),
        })),
      ),
      { steps: String(this.steps) },
    )
    writeFileSync(`${path}.tmp`, Buffer.concat(parts))
    renameSync(`${path}.tmp`, path)
  }

  #with({ ids, labels, weights }: Rows): Feeds {
    const shape = [ids.length]
    return {
      input_ids: { dtype: 'I64', shape, data: ids },
      labels: { dtype: 'I64', shape, data: labels },
      weights: { dtype: 'F32', shape, data: weights },
      ...this.#feeds('parameters', (name) => name),
    }
  }

  #feeds(region: Region, called: (name: string) => string): Feeds {
    return Object.fromEntries(
      this.tensors.map(({ name, shape }) => [
        called(name),
        { dtype: 'F32', shape, data: this.#flat.view(region, name) },
      ]),
    )
  }
}

/** Of rows: the loss, and each token's cross-entropy and first choice of what comes next. */
export type Found = ReturnType<typeof placesFor>

const placesFor = ({ ids: { length } }: Rows) => ({
  loss: { dtype: 'F32' as const, shape: [], data: new Float32Array(1) },
  cross_entropy: { dtype: 'F32' as const, shape: [length], data: new Float32Array(length) },
  predicted: { dtype: 'I64' as const, shape: [length], data: new BigInt64Array(length) },
})

/** @returns  the steps that were done before; 0, and parameters of chance, where none were */
async function restored(flat: FlatTensors, options: TrainingOptions): Promise<number> {
  const path = options.state
  if (!existsSync(path)) {
    flat.fill('parameters', initial(flat, options))
    return 0
  }
  const file = await openSafetensors(path)
  for (const region of kept) {
    for (const { name } of flat.places) {
      const { data } = await readTensor(file, `${region}:${name}`)
      flat.view(region, name).set(new Float32Array(data.buffer, data.byteOffset, data.length / 4))
    }
  }
  return Number(file.metadata.get('steps'))
}

/** Norms are ones; what adds to the residual stream begins small. */
function initial(
  flat: FlatTensors,
  { config, seed }: TrainingOptions,
): ReadonlyMap<string, Float32Array> {
  const random = seededRandom(seed)
  return new Map(
    flat.places.map(({ name, view }) => {
      const count = view('parameters').length
      if (name.endsWith('norm.weight')) return [name, new Float32Array(count).fill(1)]
      const scale = /(o|down)_proj/.test(name) ? 1 / Math.sqrt(2 * config.layers) : 1
      const width = name.includes('down_proj') ? config.intermediateSize : config.hiddenSize
      const deviation = name.includes('embed') ? 0.05 : scale / Math.sqrt(width)
      return [name, spread(random, count, deviation)]
    }),
  )
}
