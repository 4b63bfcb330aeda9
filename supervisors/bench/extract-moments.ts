import { appendFileSync } from 'node:fs'

/**
 * Loaded before a pipeline in its process and each of its threads: writes down when a batch was
 * taken and when a sample had come to its end, committed and removed from the spool. The rest of
 * the moments that the program names pass unheard.
 */

const file = process.env.DRAFTSMITH_BENCH_MOMENTS
const wanted = new Set(['extractor.claimed', 'ledger.removed'])

const note = (moment: string): void => {
  if (!file || !wanted.has(moment)) return
  // One clock for all threads and processes of a machine, which nobody sets; then the process's
  // own.
  const { user, system } = process.cpuUsage()
  appendFileSync(file, `${moment} ${process.hrtime.bigint()} ${user + system}\n`)
}
Object.assign(globalThis, { [Symbol.for('draftsmith.probe')]: note })
