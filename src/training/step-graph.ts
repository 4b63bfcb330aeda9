/**
 * Graphs of a training whose parameters, moments and gradients stay on the device: gradients of a
 * batch, their sum with another's, a step with them; and gradients and step at once.
 */
import { Builder } from '../graph/builder.ts'
import { Graph } from '../graph/graph.ts'
import type { TensorType, Value } from '../graph/ops.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterTensors } from '../models/drafter-tensors.ts'
import type { AdamwSettings } from '../optim/adamw.ts'
import { adamwNodes } from '../optim/adamw-graph.ts'
import { heldOutput } from '../session/resident-session.ts'
import { gradientName, type LossGraphOptions, type LossNodes, lossNodes } from './loss-graph.ts'

/** Of all that belongs to a tensor, what a step begins from and leaves. */
export const stateRegions = ['parameters', 'firstMoments', 'secondMoments'] as const

/** What parameters and their moments are called where they go in and come out. */
export const stateNames = {
  parameters: (name: string) => name,
  firstMoments: (name: string) => `m:${name}`,
  secondMoments: (name: string) => `v:${name}`,
} as const

/** A gradient of another batch, to be added. */
export const addendName = (parameter: string): string => `addend:${parameter}`

const scalar: TensorType = { dtype: 'F32', shape: [] }

/** As `lossGraph`, but gradients are held. */
export function heldGradientsGraph(config: DrafterConfig, options: LossGraphOptions): Graph {
  const graph = new Graph()
  for (const { name, gradient } of lossNodes(graph, config, options).trained) {
    graph.output(heldOutput(gradientName(name)), gradient)
  }
  return graph
}

/** Gradients and addends in, their sums held as gradients. */
export function sumGraph(config: DrafterConfig): Graph {
  const graph = new Graph()
  const b = new Builder(graph, 'sum')
  for (const { name, shape } of drafterTensors(config)) {
    const [x, y] = [gradientName(name), addendName(name)].map((input) =>
      graph.input(input, { dtype: 'F32', shape }),
    )
    graph.output(heldOutput(gradientName(name)), b.add(x, y))
  }
  return graph
}

/**
 * Parameters, moments, gradients, `loss` and the rates in; the state after the step held, `norm`
 * and `squares` read: see `adamwNodes`.
 */
export function applyGraph(config: DrafterConfig, settings: AdamwSettings): Graph {
  const graph = new Graph()
  const trained = drafterTensors(config).map(({ name, shape }) => ({
    name,
    parameter: graph.input(name, { dtype: 'F32', shape }),
    gradient: graph.input(gradientName(name), { dtype: 'F32', shape }),
  }))
  applied(graph, { loss: graph.input('loss', scalar), trained }, settings)
  return graph
}

/** `lossGraph` and `applyGraph` in one, for a step of one batch. */
export function stepGraph(
  config: DrafterConfig,
  options: LossGraphOptions,
  settings: AdamwSettings,
): Graph {
  const graph = new Graph()
  applied(graph, lossNodes(graph, config, options), settings)
  return graph
}

function applied(graph: Graph, { loss, trained }: LossNodes, settings: AdamwSettings): void {
  const moment = (name: string, { shape }: Value) => graph.input(name, { dtype: 'F32', shape })
  const rates = ['rate', 'correction', 'keep'].map((name) => graph.input(name, scalar))
  const [rate, correction, keep] = rates
  const all = trained.map((one) => ({
    ...one,
    firstMoment: moment(stateNames.firstMoments(one.name), one.parameter),
    secondMoment: moment(stateNames.secondMoments(one.name), one.parameter),
  }))
  const step = { loss, rate, correction, keep }
  const { tensors, norm, squares } = adamwNodes(new Builder(graph, 'adamw'), all, step, settings)
  for (const [i, { name }] of trained.entries()) {
    const { parameter, firstMoment, secondMoment } = tensors[i]
    graph.output(heldOutput(stateNames.parameters(name)), parameter)
    graph.output(heldOutput(stateNames.firstMoments(name)), firstMoment)
    graph.output(heldOutput(stateNames.secondMoments(name)), secondMoment)
  }
  graph.output('norm', norm)
  graph.output('squares', squares)
}
