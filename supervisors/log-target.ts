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

/** Keeps the lines of the start before, once; so two starts bound what the disk holds. */
export function keepPreviousLog(work: string): void {
  const file = logFile(work)
  if (existsSync(file)) renameSync(file, file.replace(/\.jsonl$/, '.1.jsonl'))
}
