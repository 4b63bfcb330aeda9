/**
 * Steps on cpu: parameters, moments and gradients in one memory of the process, a graph for
 * gradients, and WebAssembly for what is done with them.
 */
import { drafterTensors } from '../models/drafter-tensors.ts'
import { Adamw, type Stepped } from '../optim/adamw.ts'
import { FlatTensors, type Region } from '../optim/flat.ts'
import type { Feeds } from '../session/feed.ts'
import { openTrainingSession, type TrainingSession } from '../session/training-session.ts'
import { type Engine, lossOf, type MicroBatch, type Passed, type Spent } from './engine.ts'
import { frozenOf } from './frozen-feeds.ts'
import { GraphsByShape, lossSettings } from './graphs-by-shape.ts'
import type { LearnerParts } from './learner.ts'
import { gradientName, lossGraph } from './loss-graph.ts'
import { StepRuns } from './step-runs.ts'

export class HostEngine implements Engine {
  readonly tensors: FlatTensors
  readonly #parts: LearnerParts
  readonly #frozen: Feeds
  readonly #graphs: GraphsByShape<TrainingSession>
  readonly #runs: StepRuns
  #optimizer: Adamw

  constructor(parts: LearnerParts) {
    this.#parts = parts
    this.#frozen = frozenOf(parts)
    this.tensors = new FlatTensors(drafterTensors(parts.drafter))
    this.#optimizer = new Adamw(this.tensors, parts.options.optimizer)
    this.#graphs = new GraphsByShape((of) =>
      openTrainingSession(lossGraph(parts.drafter, lossSettings(parts, of)), parts),
    )
    this.#runs = new StepRuns(() => ({ insideMs: this.insideMs, transferMs: 0 }))
  }

  get updates(): number {
    return this.#optimizer.steps
  }

  set updates(count: number) {
    this.#optimizer = new Adamw(this.tensors, this.#parts.options.optimizer, count)
  }

  get spent(): Spent {
    return this.#runs.spent
  }

  /** Milliseconds inside onnxruntime, for steps and for looks. */
  get insideMs(): number {
    return this.#graphs.insideMs
  }

  step(batches: readonly MicroBatch[], lr: number, passed: Passed): Promise<Stepped> {
    return this.#runs.during(async () => {
      for (const [i, batch] of batches.entries()) {
        await this.#run(batch, i === 0 ? 'gradients' : 'addends')
        if (i > 0) this.#optimizer.accumulate()
        passed(i + 1)
      }
      return this.#optimizer.step({ lr, loss: lossOf(batches) })
    })
  }

  async judge(batch: MicroBatch): Promise<void> {
    await this.#run(batch, null)
  }

  /** They are read where they are trained. */
  async read(): Promise<void> {}

  async release(): Promise<void> {
    await this.#graphs.release()
  }

  async #run({ shape, dtype, feeds, results }: MicroBatch, into: Region | null): Promise<void> {
    const does = into === null ? 'judge' : 'gradients'
    const graph = await this.#graphs.of({ shape, dtype, does })
    const inputs = { ...this.#tensorsIn('parameters', (name) => name), ...this.#frozen, ...feeds }
    const gradients = into === null ? {} : this.#tensorsIn(into, gradientName)
    await graph.run(inputs, { ...results, ...gradients })
  }

  #tensorsIn(region: Region, nameOf: (tensor: string) => string): Feeds {
    return feedsIn(this.tensors, { region, nameOf }, this.#parts)
  }
}

/** Views on a region, by the names that a graph has for them. */
function feedsIn(
  tensors: FlatTensors,
  at: { readonly region: Region; readonly nameOf: (tensor: string) => string },
  { drafter }: LearnerParts,
): Feeds {
  return Object.fromEntries(
    drafterTensors(drafter).map(({ name, shape }) => [
      at.nameOf(name),
      { dtype: 'F32', shape, data: tensors.view(at.region, name) },
    ]),
  )
}
