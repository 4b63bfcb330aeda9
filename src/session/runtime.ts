/** onnxruntime itself, loaded when something is to be computed. */
import type { InferenceSession } from 'onnxruntime-node'
import type { Gate } from './gate.ts'
import { refuseTelemetry } from './telemetry.ts'

export type Runtime = typeof import('onnxruntime-node')

/**
 * What goes wrong is thrown as well; printed past the log it would tear progress bars and JSON
 * lines.
 */
const quiet = 4

/** @param gate  loading the library is native code too */
export async function loadRuntime(gate: Gate): Promise<Runtime> {
  refuseTelemetry()
  // Imported here, not above: whoever computes nothing does without its 60 MB.
  const runtime = await gate.through(() => import('onnxruntime-node'))
  runtime.env.logLevel = 'fatal'
  return runtime
}

/** @param threads  how many compute, the calling one among them */
export const commonOptions = (threads: number): InferenceSession.SessionOptions => ({
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  // Keeps a layout for each shape that it has seen, which costs memory and saves no time.
  enableMemPattern: false,
  logSeverityLevel: quiet,
  // Threads that wait by spinning take the cores from the actors beside them.
  extra: { session: { intra_op: { allow_spinning: '0' } } },
})
