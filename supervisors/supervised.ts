import type { Config, PreemptionConfig } from '../src/config/schema.ts'
import { refuseTelemetry } from '../src/session/telemetry.ts'
import { LineHistory } from './display/line-history.ts'
import { Terminal } from './display/terminal.ts'
import { extracting, type Job } from './job.ts'
import { dieWithLauncher, tellLauncher } from './launcher.ts'
import { keepPreviousLogs, logFile } from './log-target.ts'
import { explained } from './run/explained.ts'
import { followLog } from './run/follow.ts'
import { FrontDesk } from './run/front-desk.ts'
import { exitCodes } from './run/machine.ts'
import { PreemptionWatch } from './run/preemption.ts'
import type { NoticePlace } from './run/preemption-notice.ts'
import { requireFolder } from './run/preflight.ts'
import type { RunResult } from './run/result.ts'
import { beginRetries, withRetries } from './run/retries.ts'
import { RunProcess } from './run/run.ts'
import { onEndSignals } from './run/signals.ts'
import { consoleFolder } from './run/socket-path.ts'
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
  let desk: FrontDesk | undefined
  const workplace = await holdWorkplace(config.work, async (line, caller) => {
    if (desk) await desk.answer(line, caller)
    else caller.tell({ kind: 'text', text: 'The run is starting.' })
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
  desk = deskOf(begun, config)
  for (const warning of warnings) begun.log.warn(warning)
  process.on('uncaughtException', (error) => begun.end.ofBug(error))
  process.on('unhandledRejection', (error) => begun.end.ofBug(error))
  onEndSignals((signal, urgency) => {
    if (urgency === 'leave') void begun.end.leave(signal)
    else begun.signalled(signal, urgency)
  })
  const { preemption } = config
  let notice: NoticePlace | undefined
  const watch =
    preemption &&
    watchPreemption(preemption, begun, () => {
      notice = { file: preemption.file, url: preemption.url }
    })
  if (process.stderr.isTTY) {
    const history = new LineHistory(consoleFolder(config.work))
    terminal = new Terminal({ desk, history, logFile: logFile(config.work) })
  }
  try {
    const result = await begun.run()
    if (begun.end.afterWords === 'kill') {
      await tellLauncher({ exit: result.code })
      process.once('exit', () => process.kill(process.pid, 'SIGKILL'))
    }
    return notice && result.code === exitCodes.stopped ? { ...result, notice } : result
  } finally {
    watch?.close()
    terminal?.close()
    workplace.release()
  }
}

const watchPreemption = (
  preemption: PreemptionConfig,
  { control, end, log }: RunProcess,
  noticed: () => void,
) =>
  new PreemptionWatch(preemption, {
    log,
    noticed: (leftMs) => {
      noticed()
      void control.preempted(leftMs, () => void end.wedged(exitCodes.stopped))
    },
  })

const deskOf = (run: RunProcess, config: Config): FrontDesk =>
  new FrontDesk(
    {
      root: run.control,
      explain: (asked, signal) => explained(asked, config, signal),
      follow: (actor, told, signal) => followLog(logFile(config.work), actor, { told, signal }),
    },
    config.work,
    (given) => run.log.info(given, 'ordered'),
  )
