import { type ExecFileException, execFile } from 'node:child_process'
import type { Config } from '../../src/config/schema.ts'
import { Failure } from '../../src/failure.ts'

/** A manifest of millions of lines, over a slow line. */
const explainMs = 300_000
const answerBytesMax = 4 << 20

/**
 * `explain`, for whoever is at the console. In a process of its own: it replays the manifest, which
 * would hold up this one.
 *
 * @throws  Failure `invalid`: no such row or hash; `unavailable`: it did not answer
 */
export function explained(asked: string, config: Config, signal: AbortSignal): Promise<string> {
  if (!/^[0-9a-f]+$/i.test(asked)) {
    throw new Failure('invalid', `neither row nor hash. found=${asked}`, {
      remedy: 'Give a row from 0, or 4 to 32 hex digits of a hash.',
    })
  }
  const main = [...process.execArgv, process.argv[1], 'explain', asked, '--config', '-']
  const limits = { timeout: explainMs, maxBuffer: answerBytesMax, signal }
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, main, limits, (error, stdout, stderr) => {
      // Exit code 1: it says that it knows none.
      if (error === null || (error.code === 1 && stdout !== '')) resolve(stdout.trimEnd())
      else reject(refusal(error, stderr))
    })
    // Where it could not begin, or ended at once, the above tells.
    child.stdin?.on('error', () => undefined)
    // As this run has it, wherever its file is by now.
    child.stdin?.end(JSON.stringify(config))
  })
}

/** As the command says it: a line of what is wrong, and one of what to do. */
function refusal(error: ExecFileException, stderr: string): Failure {
  const [what = '', remedy = ''] = stderr.trim().split('\n').slice(-2)
  if (error.code !== 2) return new Failure('unavailable', 'no answer', { cause: error })
  const message = what.replace(/^draftsmith: /, '')
  return new Failure('invalid', message, remedy === '' ? {} : { remedy: remedy.trim() })
}
