/**
 * Many batches in one run: parameters, moments and the sum of gradients go round on the device, and
 * cross the bus once, however many batches and steps there are.
 */
import { Builder } from '../graph/builder.ts'
import { Graph } from '../graph/graph.ts'
import type { TensorType, Value } from '../graph/ops.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterTensors } from '../models/drafter-tensors.ts'
import type { AdamwSettings } from '../optim/adamw.ts'
import { adamwNodes } from '../optim/adamw-graph.ts'
import { type LossGraphOptions, lossGraph, lossNodes } from './loss-graph.ts'
import { stateNames, stateRegions } from './step-graph.ts'

export interface LoopOptions {
  readonly loss: LossGraphOptions
  readonly settings: AdamwSettings
  /** Batches of a run, one or more. */
  readonly times: number
}

/** Of a batch: its own in each iteration. The rest of a loss graph's inputs stays the same. */
const ofBatch = ['hidden', 'final', 'anchors', 'labels', 'weights']

/** What the state is called after the loop. */
export const afterLoop = (name: string): string => `after:${name}`

/**
 * Inputs: parameters and moments; embedding and head; those of a batch with one more axis in front,
 * [times, …]; float32 [times] `lr`, `keep` (1 − lr × decay) and `ends`, 1 for the last batch of a
 * step, else 0; float32 [times] `rates` and `corrections`, for the next update, the one after it,
 * …: 1 ÷ (1 − β₁ᵗ) and 1 ÷ √(1 − β₂ᵗ).
 *
 * Outputs: the state, as `afterLoop` names it; of each batch what `lossGraph` gives, and, of the
 * step that ends with it or of what is summed by then, `norm`, and `squares` [times, tensors].
 */
export function loopGraph(config: DrafterConfig, options: LoopOptions): Graph {
  const graph = new Graph()
  const { times } = options
  const state = stateOf(graph, config)
  const zeros = drafterTensors(config).map(({ name, shape }) =>
    graph.node(`zeros:${name}`, 'Expand', [graph.scalar(0), graph.integers(shape)], {}),
  )
  const none = graph.integers(0)
  const carried = [...state, ...zeros, graph.scalar(0), none]
  const body = bodyOf(graph, config, options)
  const found = graph.add('loop', 'Loop', [graph.integers(times), undefined, ...carried], {
    body: { graph: body.graph },
  })
  state.forEach(({ name }, i) => {
    graph.output(afterLoop(name), found[i])
  })
  body.gathered.forEach((name, i) => {
    graph.output(name, found[carried.length + i])
  })
  return graph
}

const stateOf = (graph: Graph, config: DrafterConfig): Value[] =>
  drafterTensors(config).flatMap(({ name, shape }) =>
    stateRegions.map((region) => graph.input(stateNames[region](name), { dtype: 'F32', shape })),
  )

interface Body {
  readonly graph: Graph
  /** Names of what is gathered of each batch, in their order. */
  readonly gathered: readonly string[]
}

function bodyOf(outer: Graph, config: DrafterConfig, options: LoopOptions): Body {
  const body = new Graph('batch.')
  const b = new Builder(body, 'loop')
  const iteration = body.input('iteration', { dtype: 'I64', shape: [] })
  const going = body.input('going', { dtype: 'BOOL', shape: [] })
  const state = stateOf(body, config)
  const tensors = drafterTensors(config)
  const sums = tensors.map(({ name, shape }) => body.input(`sum:${name}`, { dtype: 'F32', shape }))
  const lossSum = body.input('sum', { dtype: 'F32', shape: [] })
  const updates = body.input('updates', { dtype: 'I64', shape: [] })
  const of = (name: string, at: Value, type: TensorType = { dtype: 'F32', shape: [] }) => {
    const all = outer.input(name, { ...type, shape: [options.times, ...type.shape] })
    return b.op('Gather', [all, at], { axis: 0 })
  }
  tensors.forEach(({ name }, i) => {
    body.bind(name, state[stateRegions.length * i])
  })
  for (const { name, dtype, shape } of lossGraph(config, { ...options.loss, learns: false })
    .inputs) {
    if (tensors.some((tensor) => tensor.name === name)) continue
    const type = { dtype, shape }
    body.bind(name, ofBatch.includes(name) ? of(name, iteration, type) : outer.input(name, type))
  }
  const { loss, trained } = lossNodes(body, config, options.loss)
  const gathered = body.outputs.splice(0)
  const total = b.add(lossSum, loss)
  const gradients = trained.map(({ gradient }, i) => b.add(sums[i], gradient))
  const ends = b.op('Less', [b.scalar(0.5), of('ends', iteration)], {})
  const applied = adamwNodes(
    b,
    trained.map(({ name }, i) => ({
      name,
      parameter: state[stateRegions.length * i],
      gradient: gradients[i],
      firstMoment: state[stateRegions.length * i + 1],
      secondMoment: state[stateRegions.length * i + 2],
    })),
    {
      loss: total,
      rate: b.mul(of('lr', iteration), of('rates', updates)),
      correction: of('corrections', updates),
      keep: of('keep', iteration),
      when: ends,
    },
    options.settings,
  )
  const begunAnew = (x: Value) => b.op('Where', [ends, b.scalar(0), x], {})
  const count = body.cast(b.name('count'), applied.changed, 'I64')
  const next = [
    going,
    ...applied.tensors.flatMap((tensor) => [
      tensor.parameter,
      tensor.firstMoment,
      tensor.secondMoment,
    ]),
    ...gradients.map(begunAnew),
    begunAnew(total),
    b.add(updates, count),
  ]
  next.forEach((value, i) => {
    body.output(`batch.next:${i}`, value)
  })
  const more = [
    { name: 'norm', value: applied.norm },
    { name: 'squares', value: applied.squares },
  ]
  for (const { name, value } of [...gathered, ...more]) body.output(`batch.of:${name}`, value)
  return { graph: body, gathered: [...gathered, ...more].map(({ name }) => name) }
}
