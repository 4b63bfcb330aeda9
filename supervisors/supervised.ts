import { runLine } from '../actors/console/command.ts'
import type { Config } from '../src/config/schema.ts'
import { refuseTelemetry } from '../src/session/telemetry.ts'
import { dieWithLauncher } from './launcher.ts'
import { keepPreviousLog, logFile } from './log-target.ts'
import { requireFolder } from './preflight.ts'
import { RunProcess, type RunResult } from './run.ts'
import { onEndSignals } from './signals.ts'
import { Terminal } from './terminal.ts'
import { holdWorkplace } from './workplace.ts'

/**
 * A run with all that surrounds it in its process: the work folder is held, signals are heard, the
 * socket answers, a terminal is drawn.
 *
 * @throws  Failure: what the preflight found; `superseded`: the folder is another's
 */
export async function supervised(config: Config, warnings: readonly string[]): Promise<RunResult> {
  dieWithLauncher()
  refuseTelemetry()
  requireFolder(config.work)
  let run: RunProcess | undefined
  const workplace = await holdWorkplace(config.work, async (line) => {
    if (!run) return { text: 'starting' }
    if (line === 'status') return { status: run.status(), text: await runLine(run, line) }
    return { text: await runLine(run, line) }
  })
  keepPreviousLog(config.work)
  const begun = new RunProcess(config)
  run = begun
  for (const warning of warnings) begun.log.warn(warning)
  dieOfBugs(begun)
  onEndSignals((signal, urgency) => {
    if (urgency === 'leave') process.kill(process.pid, 'SIGKILL')
    else begun.signalled(signal, urgency)
  })
  const terminal = process.stderr.isTTY ? new Terminal(begun, logFile(config.work)) : undefined
  try {
    return await begun.run()
  } finally {
    terminal?.close()
    workplace.release()
  }
}

/** Not by an orderly exit, which ends threads inside native code: the launcher starts anew. */
function dieOfBugs({ log }: RunProcess): void {
  const die = (error: unknown) => {
    log.fatal({ err: error }, 'the supervisor dies of a bug')
    process.kill(process.pid, 'SIGKILL')
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
}
