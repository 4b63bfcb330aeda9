/**
 * Steps on webgpu: parameters, moments and gradients stay on the device, where each step's outputs
 * are the next one's inputs. The process's own memory holds a copy as of the last `read`. On cpu
 * the same graphs compute the same, with nothing to be moved.
 */
import { Failure } from '../failure.ts'
import { drafterTensors } from '../models/drafter-tensors.ts'
import type { Stepped } from '../optim/adamw.ts'
import { FlatTensors } from '../optim/flat.ts'
import { ratesOf, StepJudge } from '../optim/judge.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import {
  drop,
  type Held,
  openResidentSession,
  type ResidentSession,
} from '../session/resident-session.ts'
import { Carrier } from './carrier.ts'
import {
  type Engine,
  lossOf,
  type MicroBatch,
  type Passed,
  type Spent,
  sessionOptions,
} from './engine.ts'
import { GraphsByShape, lossSettings } from './graphs-by-shape.ts'
import type { LearnerParts } from './learner.ts'
import { gradientName, lossGraph } from './loss-graph.ts'
import { Once } from './once.ts'
import { addendName, applyGraph, heldGradientsGraph, stepGraph, sumGraph } from './step-graph.ts'
import { StepRuns } from './step-runs.ts'

export class ResidentEngine implements Engine {
  readonly tensors: FlatTensors
  readonly #parts: LearnerParts
  readonly #graphs: GraphsByShape<ResidentSession>
  readonly #sum: Once<ResidentSession>
  readonly #apply: Once<ResidentSession>
  readonly #carrier: Carrier
  readonly #runs: StepRuns
  readonly #judge: StepJudge
  #updates = 0
  /** Parameters and moments; null: to be taken from `tensors`. */
  #state: Held | null = null
  #turn: Promise<unknown> = Promise.resolve()

  constructor(parts: LearnerParts) {
    const { drafter, options } = parts
    const open = sessionOptions(parts)
    this.#parts = parts
    this.tensors = new FlatTensors(drafterTensors(drafter))
    this.#carrier = new Carrier(parts, this.tensors)
    this.#judge = new StepJudge(this.tensors, options.optimizer, 'onDevice')
    this.#sum = new Once(() => openResidentSession(sumGraph(drafter), open))
    this.#apply = new Once(() => openResidentSession(applyGraph(drafter, options.optimizer), open))
    this.#graphs = new GraphsByShape((of) => {
      const settings = lossSettings(parts, of)
      const graph = {
        judge: () => lossGraph(drafter, settings),
        gradients: () => heldGradientsGraph(drafter, settings),
        step: () => stepGraph(drafter, settings, options.optimizer),
      }[of.does === 'judge' || of.does === 'gradients' ? of.does : 'step']
      return openResidentSession(graph(), open)
    })
    this.#runs = new StepRuns(() => this.#spentByAll())
  }

  get updates(): number {
    return this.#updates
  }

  set updates(count: number) {
    this.#updates = count
    this.#judge.written()
    if (this.#state) drop(this.#state)
    this.#state = null
  }

  get spent(): Spent {
    return this.#runs.spent
  }

  step(batches: readonly MicroBatch[], lr: number, passed: Passed): Promise<Stepped> {
    return this.#alone(() => this.#runs.during(() => this.#step(batches, lr, passed)))
  }

  judge(batch: MicroBatch): Promise<void> {
    return this.#alone(async () => {
      const state = await this.#onDevice()
      await this.#run(batch, { does: 'judge', state, feeds: {} })
    })
  }

  read(): Promise<void> {
    return this.#alone(async () => {
      if (this.#state) await this.#carrier.down(this.#state)
    })
  }

  async release(): Promise<void> {
    await this.#alone(async () => {
      if (this.#state) drop(this.#state)
      this.#state = null
      await this.#carrier.release()
      for (const one of [this.#graphs, this.#sum.made, this.#apply.made]) await one?.release()
    })
  }

  async #step(batches: readonly MicroBatch[], lr: number, passed: Passed): Promise<Stepped> {
    const state = await this.#onDevice()
    const rates = this.#rates(lr)
    const [first] = batches
    const { read, held } =
      batches.length === 1
        ? await this.#run(first, { does: 'step of 1', state, feeds: rates })
        : await this.#applied(await this.#gradients(batches, state, passed), {
            ...{ batches, state, rates },
          })
    const stepped = this.#judge.judge({
      loss: lossOf(batches),
      gradientNorm: floatsOf(read, 'norm')[0],
      squares: floatsOf(read, 'squares'),
      lr,
      count: this.#updates + 1,
    })
    // The values themselves are looked at here: what a device makes of those that are not finite
    // is not known of every one.
    if (stepped.state === 'applied') this.#updates++
    this.#state = stepped.state === 'applied' ? held : state
    drop(stepped.state === 'applied' ? state : held)
    return stepped
  }

  #spentByAll(): Spent {
    const transferMs = this.#carrier.ms
    const applied = (this.#sum.made?.spent.ms ?? 0) + (this.#apply.made?.spent.ms ?? 0)
    return { insideMs: this.#graphs.insideMs + applied + transferMs, transferMs }
  }

  /** What reads the state waits for the end of a step. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #onDevice(): Promise<Held> {
    this.#state ??= await this.#carrier.up()
    return this.#state
  }

  #rates(lr: number): Feeds {
    const { rate, correction, keep } = ratesOf(this.#parts.options.optimizer, lr, this.#updates + 1)
    return { rate: scalar(rate), correction: scalar(correction), keep: scalar(keep) }
  }

  /** Summed over the batches. */
  async #gradients(batches: readonly MicroBatch[], state: Held, passed: Passed): Promise<Held> {
    let sum: Held | undefined
    for (const [i, batch] of batches.entries()) {
      const { held } = await this.#run(batch, { does: 'gradients', state, feeds: {} })
      sum = sum ? await this.#added(sum, held) : held
      passed(i + 1)
    }
    return sum ?? {}
  }

  async #added(gradients: Held, more: Held): Promise<Held> {
    const addends = Object.fromEntries(
      drafterTensors(this.#parts.drafter).map(({ name }) => {
        return [addendName(name), more[gradientName(name)]]
      }),
    )
    const { held } = await (await this.#sum.get()).run({}, { ...gradients, ...addends })
    drop(gradients)
    drop(more)
    return held
  }

  async #applied(
    gradients: Held,
    of: { readonly batches: readonly MicroBatch[]; readonly state: Held; readonly rates: Feeds },
  ) {
    const feeds = { ...of.rates, loss: scalar(lossOf(of.batches)) }
    const found = await (await this.#apply.get()).run(feeds, { ...of.state, ...gradients })
    drop(gradients)
    return found
  }

  async #run(
    batch: MicroBatch,
    of: {
      readonly does: 'judge' | 'gradients' | 'step of 1'
      readonly state: Held
      readonly feeds: Feeds
    },
  ) {
    const graph = await this.#graphs.of({ shape: batch.shape, dtype: 'f32', does: of.does })
    const { small, carried } = await this.#carrier.batch(batch)
    const state = of.does === 'step of 1' ? of.state : this.#parametersOf(of.state)
    const held = { ...state, ...(await this.#carrier.frozen()), ...carried }
    const found = await graph.run({ ...small, ...of.feeds }, held)
    drop(carried)
    for (const [name, place] of Object.entries(batch.results)) {
      place.data.set(floatsOf(found.read, name))
    }
    return found
  }

  #parametersOf(state: Held): Held {
    const tensors = drafterTensors(this.#parts.drafter)
    return Object.fromEntries(tensors.map(({ name }) => [name, state[name]]))
  }
}

const scalar = (number: number): Feed => {
  return { dtype: 'F32', shape: [], data: Float32Array.of(number) }
}

function floatsOf(read: Feeds, name: string): Float32Array {
  const { data } = read[name]
  if (data instanceof Float32Array) return data
  throw new Failure('invalid', `a graph does not give what is wanted of it. output=${name}`)
}
