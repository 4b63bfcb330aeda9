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

/** Where a model runs, on how many threads, and who may end it. */
export interface SessionOptions {
  /** `cpu`, `cuda` or `cuda:N`. */
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
   * @param into  where these outputs are written, by name
   * @returns     every output by name, each in a buffer of its own, which may be transferred, or
   *              where it was told
   * @throws      Failure `invalid`: onnxruntime refuses what it is given, or has no memory for it
   */
  run(feeds: Feeds, into?: Feeds): Promise<Feeds>
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
  return {
    inputs: session.inputNames,
    outputs: session.outputNames,
    run: (feeds, into = {}) => gate.through(() => run(runtime, session, { feeds, into })),
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
  session: InferenceSession,
  { feeds, into }: { readonly feeds: Feeds; readonly into: Feeds },
): Promise<Feeds> {
  const given = tensorsOf(runtime, feeds)
  const wanted = Object.fromEntries(session.outputNames.map((name) => [name, null]))
  let results: InferenceSession.ReturnType
  try {
    results = await session.run(given, { ...wanted, ...tensorsOf(runtime, into) })
  } catch (cause) {
    throw runFailure([feeds, into], cause)
  }
  return Object.fromEntries(
    Object.entries(results).map(([name, result]) => [name, into[name] ?? feedOf(name, result)]),
  )
}
