/**
 * onnxruntime 1.30 for Linux tells its maker of its use: a database below ~/.cache, a log in the
 * temporary folder, and an upload, unless a variable says otherwise when it loads.
 */

const variable = 'ORT_DISABLE_TELEMETRY'

/**
 * Says otherwise, for this process, where its user has not decided. On the main thread, before any
 * thread loads onnxruntime: a worker's environment is a copy that native code does not see.
 */
export function refuseTelemetry(): void {
  process.env[variable] ??= '1'
}
