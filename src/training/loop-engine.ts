/**
 * Steps on cuda, where a run's inputs and outputs cross the bus: all batches of a step in one run,
 * so that parameters and moments cross once a step. They lie in the process's own memory between
 * steps. Batches of several shapes do not go round in one loop: of such a step the gradients cross,
 * and the processor applies them.
 */
import { drafterTensors } from '../models/drafter-tensors.ts'
import type { Stepped } from '../optim/adamw.ts'
import { FlatTensors } from '../optim/flat.ts'
import { ratesOf, StepJudge } from '../optim/judge.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import { openTrainingSession, type TrainingSession } from '../session/training-session.ts'
import { type Engine, lossOf, type MicroBatch, type Passed, type Spent } from './engine.ts'
import { frozenOf } from './frozen-feeds.ts'
import { GraphsByShape, lossSettings } from './graphs-by-shape.ts'
import { HostEngine } from './host-engine.ts'
import type { LearnerParts } from './learner.ts'
import { afterLoop, loopGraph } from './loop-graph.ts'
import { stackedFeeds, stackedPlaces, unstack } from './stacked.ts'
import { stateNames, stateRegions } from './step-graph.ts'
import { StepRuns } from './step-runs.ts'

export class LoopEngine implements Engine {
  readonly #parts: LearnerParts
  readonly #host: HostEngine
  readonly #frozen: Feeds
  /** Where a step's state is written: what is trained is only overwritten with what is finite. */
  readonly #next: FlatTensors
  readonly #graphs: GraphsByShape<TrainingSession>
  readonly #runs: StepRuns
  readonly #judge: StepJudge

  constructor(parts: LearnerParts) {
    const { drafter, options } = parts
    this.#parts = parts
    this.#host = new HostEngine(parts)
    this.#frozen = frozenOf(parts)
    this.#next = new FlatTensors(drafterTensors(drafter))
    this.#judge = new StepJudge(this.#host.tensors, options.optimizer)
    this.#graphs = new GraphsByShape((of) => {
      const loop = { settings: options.optimizer, times: timesOf(of.does) }
      const graph = loopGraph(drafter, { loss: lossSettings(parts, of), ...loop })
      return openTrainingSession(graph, parts)
    })
    this.#runs = new StepRuns(() => {
      return { insideMs: this.#host.insideMs + this.#graphs.insideMs, transferMs: null }
    })
  }

  get tensors(): FlatTensors {
    return this.#host.tensors
  }

  get updates(): number {
    return this.#host.updates
  }

  set updates(count: number) {
    this.#host.updates = count
    this.#judge.written()
  }

  get spent(): Spent {
    return this.#runs.spent
  }

  step(batches: readonly MicroBatch[], lr: number, passed: Passed): Promise<Stepped> {
    return this.#runs.during(() => this.#step(batches, lr, passed))
  }

  async judge(batch: MicroBatch): Promise<void> {
    await this.#host.judge(batch)
  }

  /** They are in the process's own memory after each step. */
  async read(): Promise<void> {}

  async release(): Promise<void> {
    await this.#graphs.release()
    await this.#host.release()
  }

  async #step(batches: readonly MicroBatch[], lr: number, passed: Passed): Promise<Stepped> {
    const [{ shape, dtype }, ...more] = batches
    const isSame = (batch: MicroBatch) =>
      batch.dtype === dtype &&
      batch.shape.rows === shape.rows &&
      batch.shape.tokens === shape.tokens &&
      batch.shape.blocks === shape.blocks
    if (!more.every(isSame)) {
      this.#judge.written()
      return await this.#host.step(batches, lr, passed)
    }
    const does = `step of ${batches.length}` as const
    const session = await this.#graphs.of({ shape, dtype, does })
    const state = this.#stateIn(this.tensors, (name) => name)
    const feeds = { ...stackedFeeds(batches), ...this.#rates(batches.length, lr) }
    const places = {
      ...stackedPlaces(batches),
      norm: floats([batches.length]),
      squares: floats([batches.length, this.tensors.places.length]),
    }
    const after = this.#stateIn(this.#next, afterLoop)
    await session.run({ ...state, ...this.#frozen, ...feeds }, { ...places, ...after })
    unstack(places, batches)
    const at = batches.length - 1
    const squares = places.squares.data.subarray(at * this.tensors.places.length)
    const found = { gradientNorm: places.norm.data[at], squares, loss: lossOf(batches) }
    return this.#applied(this.#judge.judge({ ...found, lr, count: this.updates + 1 }))
  }

  #applied(stepped: Stepped): Stepped {
    if (stepped.state === 'skipped') return stepped
    for (const { name, view } of this.tensors.places) {
      for (const region of stateRegions) view(region).set(this.#next.view(region, name))
    }
    this.#host.updates++
    return stepped
  }

  /** One update, at the last of the batches. */
  #rates(times: number, lr: number): Feeds {
    const { optimizer } = this.#parts.options
    const { correction, keep } = ratesOf(optimizer, lr, this.updates + 1)
    const { rate: ofOne } = ratesOf(optimizer, 1, this.updates + 1)
    const all = (number: number) => floats([times], new Float32Array(times).fill(number))
    const ends = floats([times])
    ends.data[times - 1] = 1
    return {
      ...{ lr: all(lr), keep: all(keep), ends },
      ...{ rates: all(ofOne), corrections: all(correction) },
    }
  }

  #stateIn(tensors: FlatTensors, nameOf: (name: string) => string): Feeds {
    const entries = drafterTensors(this.#parts.drafter).flatMap(({ name, shape }) =>
      stateRegions.map((region): [string, Feed] => {
        const data = tensors.view(region, name)
        return [nameOf(stateNames[region](name)), { dtype: 'F32', shape, data }]
      }),
    )
    return Object.fromEntries(entries)
  }
}

const timesOf = (does: string): number => Number(does.replace('step of ', ''))

function floats(
  shape: readonly number[],
  data = new Float32Array(shape.reduce((product, dim) => product * dim, 1)),
) {
  return { dtype: 'F32', shape, data } as const
}
