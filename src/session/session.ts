/**
 * Running a graph with onnxruntime: feeds in, results out. Every native call goes through a gate,
 * so that the thread can be ended safely. Knows nothing of what the graph computes.
 */
import type { InferenceSession } from 'onnxruntime-node'
import { Failure } from '../failure.ts'
import { type Feeds, feedOf, runFailure, tensorsOf } from './feed.ts'
import { Gate } from './gate.ts'
import { providerOf, providerUnavailable } from './provider.ts'
import { commonOptions, loadRuntime, type Runtime } from './runtime.ts'
import { isWithheld, withheldOutput } from './withheld-output.ts'

/** Where a model runs, on how many threads, and who may end it. */
export interface SessionOptions {
  /** `cpu`, `webgpu`, `cuda` or `cuda:N`. */
  readonly device: string
  /** How many compute, the calling one among them. */
  readonly threads: number
  /** Of the thread that calls. Left out where nobody would end it. */
  readonly gate?: Gate
}

/** A model, loaded on its device. */
export interface Session {
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /**
   * Blocks its thread while the model runs.
   *
   * @returns  every output by name, each in a buffer of its own, which may be transferred
   * @throws   Failure `invalid`: onnxruntime refuses the feeds, or has no memory for them
   */
  run(feeds: Feeds): Promise<Feeds>
  /**
   * The same into the caller's memory, with no copy made of it. For models laid out by
   * `prepareModel`. When it throws, what `places` hold is undefined.
   *
   * @param places  where each output is written: of its type and shape. Also memory that is fed,
   *                for an operator that goes on from what it finds there
   * @throws        Failure `invalid`: onnxruntime refuses feeds or places
   */
  fill(feeds: Feeds, places: Feeds): Promise<void>
  release(): Promise<void>
}

/**
 * @param modelPath  an .onnx file beside its weights
 * @throws           Failure `invalid`: no such device, its provider is not installed, or the model
 *                   does not load
 */
export async function openSession(modelPath: string, options: SessionOptions): Promise<Session> {
  // A misspelt device is told before the library loads.
  providerOf(options.device)
  const gate = options.gate ?? new Gate(Gate.memory())
  const runtime = await loadRuntime(gate)
  const session = await gate.through(() => create(runtime, modelPath, options))
  const outputs = session.outputNames.filter((name) => name !== withheldOutput)
  return {
    inputs: session.inputNames,
    outputs,
    run: (feeds) => gate.through(() => run(runtime, { session, outputs }, feeds)),
    fill: (feeds, places) => gate.through(() => fill(runtime, session, { feeds, places })),
    release: () => gate.through(() => session.release()),
  }
}

async function create(
  runtime: Runtime,
  modelPath: string,
  { device, threads }: SessionOptions,
): Promise<InferenceSession> {
  try {
    return await runtime.InferenceSession.create(modelPath, {
      ...commonOptions(threads),
      executionProviders: [providerOf(device)],
      graphOptimizationLevel: 'all',
    })
  } catch (cause) {
    if (device !== 'cpu') throw providerUnavailable(device, cause)
    throw new Failure('invalid', `model does not load. model=${modelPath}`, { cause })
  }
}

async function run(
  runtime: Runtime,
  of: { readonly session: InferenceSession; readonly outputs: readonly string[] },
  feeds: Feeds,
): Promise<Feeds> {
  let results: InferenceSession.ReturnType
  try {
    results = await of.session.run(tensorsOf(runtime, feeds), of.outputs)
  } catch (cause) {
    throw runFailure([feeds], cause)
  }
  return Object.fromEntries(
    Object.entries(results).map(([name, result]) => [name, feedOf(name, result)]),
  )
}

async function fill(
  runtime: Runtime,
  session: InferenceSession,
  { feeds, places }: { readonly feeds: Feeds; readonly places: Feeds },
): Promise<void> {
  const fetches = { ...tensorsOf(runtime, places), [withheldOutput]: null }
  try {
    await session.run(tensorsOf(runtime, feeds), fetches)
  } catch (cause) {
    if (!isWithheld(cause)) throw runFailure([feeds, places], cause)
  }
}
