import { runLine } from '../actors/console/command.ts'
import type { Config } from '../src/config/schema.ts'
import { refuseTelemetry } from '../src/session/telemetry.ts'
import { Terminal } from './display/terminal.ts'
import { extracting, type Job } from './job.ts'
import { dieWithLauncher, tellLauncher } from './launcher.ts'
import { keepPreviousLogs, logFile } from './log-target.ts'
import { requireFolder } from './run/preflight.ts'
import type { RunResult } from './run/result.ts'
import { beginRetries, withRetries } from './run/retries.ts'
import { RunProcess } from './run/run.ts'
import { onEndSignals } from './run/signals.ts'
import { holdWorkplace } from './run/workplace.ts'

export interface SupervisedOptions {
  /** What is quarantined is computed again. */
  readonly retriesQuarantined?: boolean
  /** Default: extraction. */
  readonly job?: Job
}

/**
 * A run with all that surrounds it in its process: the work folder is held, signals are heard, the
 * socket answers, a terminal is drawn.
 *
 * @throws  Failure: what the preflight found; `superseded`: the folder is another's
 */
export async function supervised(
  config: Config,
  warnings: readonly string[],
  { retriesQuarantined = false, job = extracting }: SupervisedOptions = {},
): Promise<RunResult> {
  dieWithLauncher()
  refuseTelemetry()
  requireFolder(config.work)
  let run: RunProcess | undefined
  const workplace = await holdWorkplace(config.work, async (line) => {
    if (!run) return { text: 'starting' }
    if (line === 'status') return { status: run.status(), text: await runLine(run, line) }
    return { text: await runLine(run, line) }
  })
  keepPreviousLogs(config.work)
  if (retriesQuarantined) beginRetries(config.work)
  let terminal: Terminal | undefined
  // A terminal is given back as it was found, with the last lines on it, however the process ends.
  const begun = new RunProcess(config, {
    lastWords: () => terminal?.close(),
    job,
    amend: retriesQuarantined ? withRetries : async (_, prepared) => prepared,
  })
  run = begun
  for (const warning of warnings) begun.log.warn(warning)
  process.on('uncaughtException', (error) => begun.end.ofBug(error))
  process.on('unhandledRejection', (error) => begun.end.ofBug(error))
  onEndSignals((signal, urgency) => {
    if (urgency === 'leave') void begun.end.leave(signal)
    else begun.signalled(signal, urgency)
  })
  if (process.stderr.isTTY) terminal = new Terminal(begun, logFile(config.work))
  try {
    const result = await begun.run()
    if (begun.end.afterWords === 'kill') {
      await tellLauncher({ exit: result.code })
      process.once('exit', () => process.kill(process.pid, 'SIGKILL'))
    }
    return result
  } finally {
    terminal?.close()
    workplace.release()
  }
}
