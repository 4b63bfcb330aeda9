/**
 * Running a graph whose inputs and outputs stay in the memory of its device from run to run, where
 * the device has such memory that outlives a run: WebGPU's. On cpu the same tensors lie in the
 * process's own memory, each run's in new one.
 */
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import { Failure } from '../failure.ts'
import { encodeGraph } from '../graph/encode.ts'
import type { Graph } from '../graph/graph.ts'
import { lower } from '../graph/lower.ts'
import { type Feeds, feedOf, runFailure, tensorsOf } from './feed.ts'
import { Gate } from './gate.ts'
import { providerOf, providerUnavailable } from './provider.ts'
import { commonOptions, loadRuntime } from './runtime.ts'
import type { SessionOptions } from './session.ts'

/** Tensors on a device, by name, in the hands of one holder, who drops them. */
export type Held = Readonly<Record<string, Tensor>>

const prefix = 'held:'

/** What an output is called that stays on the device; it is returned by its own name. */
export const heldOutput = (name: string): string => `${prefix}${name}`

export interface ResidentSession {
  /** What has been spent inside onnxruntime. */
  readonly spent: { readonly runs: number; readonly ms: number }
  /**
   * Blocks its thread while the graph runs, as far as its results are read.
   *
   * @param feeds  what comes from the caller's memory
   * @param held   what lies on the device; it stays the caller's
   * @throws       Failure `invalid`: onnxruntime refuses them, or has no memory for what lies
   *               between
   */
  run(feeds: Feeds, held?: Held): Promise<{ readonly read: Feeds; readonly held: Held }>
  release(): Promise<void>
}

/**
 * @param graph  taken over: on WebGPU it is brought into that provider's operators
 * @throws       Failure `invalid`: no such device, its provider cannot be had, or the graph does
 *               not load
 */
export async function openResidentSession(
  graph: Graph,
  options: SessionOptions,
): Promise<ResidentSession> {
  const { device, threads, gate = new Gate(Gate.memory()) } = options
  const provider = providerOf(device)
  const model = encodedFor(device, graph)
  const runtime = await loadRuntime(gate)
  const session = await gate.through(async () => {
    try {
      return await runtime.InferenceSession.create(model, {
        ...commonOptions(threads),
        executionProviders: [provider],
        graphOptimizationLevel: 'disabled',
        preferredOutputLocation: locations(graph, device),
      })
    } catch (cause) {
      if (device !== 'cpu') throw providerUnavailable(device, cause)
      throw new Failure('invalid', `training graph does not load. bytes=${model.length}`, { cause })
    }
  })
  const spent = { runs: 0, ms: 0 }
  const run = (feeds: Feeds, held: Held = {}) =>
    gate.through(async () => {
      const before = performance.now()
      try {
        return sorted(await session.run({ ...tensorsOf(runtime, feeds), ...held }))
      } catch (cause) {
        throw runFailure([feeds], cause)
      } finally {
        spent.runs++
        spent.ms += performance.now() - before
      }
    })
  return { spent, run, release: () => gate.through(() => session.release()) }
}

/** Their memory may be used again; each is dropped once. */
export function drop(held: Held): void {
  for (const tensor of Object.values(held)) tensor.dispose()
}

function encodedFor(device: string, graph: Graph): Uint8Array {
  if (device !== 'webgpu') return encodeGraph(graph)
  lower(graph)
  return encodeGraph(graph, 'webgpu')
}

const locations = ({ outputs }: Graph, device: string) =>
  Object.fromEntries(
    outputs.map(({ name }) => {
      const stays = device === 'webgpu' && name.startsWith(prefix)
      return [name, stays ? ('gpu-buffer' as const) : ('cpu' as const)]
    }),
  )

function sorted(results: InferenceSession.ReturnType) {
  const all = Object.entries(results)
  const isHeld = ([name]: readonly [string, Tensor]) => name.startsWith(prefix)
  return {
    read: Object.fromEntries(
      all.filter((one) => !isHeld(one)).map(([name, tensor]) => [name, feedOf(name, tensor)]),
    ),
    held: Object.fromEntries(
      all.filter(isHeld).map(([name, tensor]) => [name.slice(prefix.length), tensor]),
    ),
  }
}
