import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { openLog } from '../../src/log.ts'

/**
 * Run in a process of its own, as `last-words.js WAY FILE`: a thread writes 2000 lines and a fatal
 * one, then ends that way.
 */

const [, , way, file] = process.argv

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { way, file } })
  worker.on('message', () => void worker.terminate())
  worker.on('error', () => undefined)
} else {
  const told: { readonly way: string; readonly file: string } = workerData
  const log = openLog({ actor: 'talker', level: 'info', file: told.file, stderr: 'json' })
  for (let i = 0; i < 2_000; i++) log.info({ i }, 'a line')
  log.fatal({ i: 2_000 }, 'the last line')
  if (told.way === 'exit') process.exit(1)
  if (told.way === 'throw') throw new Error('thrown')
  if (told.way === 'kill') process.kill(process.pid, 'SIGKILL')
  parentPort?.postMessage('terminate me')
  for (;;);
}
