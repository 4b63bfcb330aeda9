/**
 * Running a graph of gradients: parameters in, gradients out, all in memory of the caller's, which
 * stays the same from run to run. Nothing is allocated for a run but what onnxruntime computes in.
 */
import type { InferenceSession } from 'onnxruntime-node'
import { Failure } from '../failure.ts'
import { encodeGraph } from '../graph/encode.ts'
import type { Graph } from '../graph/graph.ts'
import { type Feeds, runFailure, tensorsOf } from './feed.ts'
import { Gate } from './gate.ts'
import { providerOf, providerUnavailable } from './provider.ts'
import { commonOptions, loadRuntime, type Runtime } from './runtime.ts'
import type { SessionOptions } from './session.ts'
import { isWithheld, withheldOutput, withholdOutputs } from './withheld-output.ts'

/** A graph of one shape, loaded; whoever trains on several shapes has one for each. */
export interface TrainingSession {
  /** What has been spent inside onnxruntime; the rest of a step's time is its caller's. */
  readonly spent: { readonly runs: number; readonly ms: number }
  /**
   * Blocks its thread while the graph runs. When it throws, what `outputs` hold is undefined.
   *
   * @param inputs   one for each of the graph
   * @param outputs  where each of the graph's outputs is written: of its type and shape
   * @throws         Failure `invalid`: an output has no place, or onnxruntime refuses inputs or
   *                 places, or has no memory for what lies between
   */
  run(inputs: Feeds, outputs: Feeds): Promise<void>
  release(): Promise<void>
}

/**
 * @throws  Failure `invalid`: a device on which training does not run, or a graph that does not
 *          load
 */
export async function openTrainingSession(
  graph: Graph,
  options: SessionOptions,
): Promise<TrainingSession> {
  requireTrainable(options.device)
  const gate = options.gate ?? new Gate(Gate.memory())
  const runtime = await loadRuntime(gate)
  const model = withholdOutputs(encodeGraph(graph))
  const session = await gate.through(() => create(runtime, model, options))
  const spent = { runs: 0, ms: 0 }
  const run = async (inputs: Feeds, outputs: Feeds) => {
    requirePlaces(session, outputs)
    const fetches = { ...tensorsOf(runtime, outputs), [withheldOutput]: null }
    const feeds = tensorsOf(runtime, inputs)
    await gate.through(async () => {
      const before = performance.now()
      try {
        await session.run(feeds, fetches)
      } catch (cause) {
        if (!isWithheld(cause)) throw runFailure([inputs, outputs], cause)
      } finally {
        spent.runs++
        spent.ms += performance.now() - before
      }
    })
  }
  return { spent, run, release: () => gate.through(() => session.release()) }
}

/** Whose outputs may be memory of the caller's: WebGPU's stay on the device. */
function requireTrainable(device: string): void {
  providerOf(device)
  if (device !== 'webgpu') return
  throw new Failure('invalid', `such a session does not run on this device. device=${device}`)
}

async function create(
  runtime: Runtime,
  model: Uint8Array,
  { device, threads }: SessionOptions,
): Promise<InferenceSession> {
  try {
    return await runtime.InferenceSession.create(model, {
      ...commonOptions(threads),
      executionProviders: [providerOf(device)],
      // Others merge what a region computes again in the backward pass with what it computed
      // before, and so keep what was to be forgotten.
      graphOptimizationLevel: 'disabled',
    })
  } catch (cause) {
    if (device !== 'cpu') throw providerUnavailable(device, cause)
    throw new Failure('invalid', `training graph does not load. bytes=${model.length}`, { cause })
  }
}

/** One without a place would be computed, and lost without a word. */
function requirePlaces({ outputNames }: InferenceSession, outputs: Feeds): void {
  const given = new Set([...Object.keys(outputs), withheldOutput])
  const missing = outputNames.filter((name) => !given.delete(name))
  if (missing.length === 0 && given.size === 0) return
  const facts = `without place=${missing.join(', ')}, not of the graph=${[...given].join(', ')}`
  throw new Failure('invalid', `outputs are not those of the graph. ${facts}`)
}
