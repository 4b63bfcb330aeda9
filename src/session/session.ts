/**
 * Running a graph with onnxruntime: feeds in, results out. Every native call goes through a gate,
 * so that the thread can be ended safely. Knows nothing of what the graph computes.
 */
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import { Failure } from '../failure.ts'
import { Gate } from './gate.ts'
import { providerOf, providerUnavailable } from './provider.ts'
import { refuseTelemetry } from './telemetry.ts'

/** What goes in or comes out, row-major; a graph gives 16-bit floats as their bits, in U16. */
export type Feed =
  | { readonly dtype: 'I64'; readonly shape: readonly number[]; readonly data: BigInt64Array }
  | { readonly dtype: 'F32'; readonly shape: readonly number[]; readonly data: Float32Array }
  | { readonly dtype: 'U16'; readonly shape: readonly number[]; readonly data: Uint16Array }

/** By the names of a model's inputs or outputs. */
export type Feeds = Readonly<Record<string, Feed>>

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
 * What goes wrong is thrown as well; printed past the log it would tear progress bars and JSON
 * lines.
 */
const quiet = 4

type Ort = typeof import('onnxruntime-node')

/**
 * @param modelPath  an .onnx file beside its weights
 * @throws           Failure `invalid`: no such device, its provider is not installed, or the model
 *                   does not load
 */
export async function openSession(modelPath: string, options: SessionOptions): Promise<Session> {
  // A misspelt device is told before the library loads.
  providerOf(options.device)
  const gate = options.gate ?? new Gate(Gate.memory())
  refuseTelemetry()
  // Imported here, not above: loading the library is native code too, and whoever computes nothing
  // does without its 60 MB.
  const ort = await gate.through(() => import('onnxruntime-node'))
  ort.env.logLevel = 'fatal'
  const session = await gate.through(() => create(ort, modelPath, options))
  return {
    inputs: session.inputNames,
    outputs: session.outputNames,
    run: (feeds, into = {}) => gate.through(() => run(ort, session, { feeds, into })),
    release: () => gate.through(() => session.release()),
  }
}

async function create(
  ort: Ort,
  modelPath: string,
  { device, threads }: SessionOptions,
): Promise<InferenceSession> {
  try {
    return await ort.InferenceSession.create(modelPath, {
      executionProviders: [providerOf(device)],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      graphOptimizationLevel: 'all',
      // Remembers one layout for each shape it has seen, and batches come in hundreds of shapes.
      enableMemPattern: false,
      logSeverityLevel: quiet,
      // Threads that wait by spinning take the cores from the actors beside them.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
  } catch (cause) {
    if (device !== 'cpu') throw providerUnavailable(device, cause)
    throw new Failure('invalid', `model does not load. model=${modelPath}`, { cause })
  }
}

async function run(
  ort: Ort,
  session: InferenceSession,
  { feeds, into }: { readonly feeds: Feeds; readonly into: Feeds },
): Promise<Feeds> {
  const tensors = (given: Feeds) => mapped(given, (feed) => tensorOf(ort, feed))
  const wanted = Object.fromEntries(session.outputNames.map((name) => [name, null]))
  let results: InferenceSession.ReturnType
  try {
    results = await session.run(tensors(feeds), { ...wanted, ...tensors(into) })
  } catch (cause) {
    const given = [...Object.entries(feeds), ...Object.entries(into)]
    const shapes = given.map(([name, feed]) => `${name}[${feed.shape}]`)
    throw new Failure('invalid', `model does not run. feeds=${shapes.join(', ')}`, { cause })
  }
  return mapped(results, (result, name) => into[name] ?? feedOf(name, result))
}

const mapped = <A, B>(
  values: Readonly<Record<string, A>>,
  change: (value: A, name: string) => B,
): Record<string, B> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]))

function tensorOf(ort: Ort, { dtype, shape, data }: Feed): Tensor {
  if (dtype === 'I64') return new ort.Tensor('int64', data, shape)
  if (dtype === 'F32') return new ort.Tensor('float32', data, shape)
  return new ort.Tensor('uint16', data, shape)
}

function feedOf(name: string, { data, dims: shape }: Tensor): Feed {
  if (data instanceof BigInt64Array) return { dtype: 'I64', shape, data }
  if (data instanceof Float32Array) return { dtype: 'F32', shape, data }
  if (data instanceof Uint16Array) return { dtype: 'U16', shape, data }
  throw new Failure('invalid', `output of a type that is not read. output=${name}`)
}
