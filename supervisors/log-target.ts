import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { LogTarget } from '../src/log.ts'

/**
 * Where a run's lines go: a file in the work folder always; stderr where nobody watches a terminal.
 */

export const logFile = (work: string): string => join(work, 'logs', 'draftsmith.jsonl')

/** Where there is no work folder, or not yet. */
export const consoleTarget: LogTarget = {
  level: 'info',
  stderr: process.stderr.isTTY ? 'pretty' : 'json',
}

/** On a terminal the lines of the file are shown above the progress bars instead. */
export const logTarget = (work: string): LogTarget => ({
  level: 'info',
  file: logFile(work),
  stderr: process.stderr.isTTY ? 'none' : 'json',
})

/** Starts whose lines are kept beside those of the present one. */
const keptStarts = 9

/** Makes room for a start's own lines; the oldest go, so that the disk holds only so many. */
export function keepPreviousLogs(work: string): void {
  const file = logFile(work)
  const aged = (age: number) => (age === 0 ? file : file.replace(/\.jsonl$/, `.${age}.jsonl`))
  for (let age = keptStarts - 1; age >= 0; age--) {
    if (existsSync(aged(age))) renameSync(aged(age), aged(age + 1))
  }
}
