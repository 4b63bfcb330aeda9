/**
 * A process of its own, for what could abort it: starts threads that run a model, ends each once
 * its gate is closed with it outside, and says how many it ended. Arguments: model, threads,
 * rounds.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Gate } from '../../../src/session/gate.ts'

const [model, threads, rounds] = process.argv.slice(2)

async function startAndEnd(index: number): Promise<boolean> {
  const word = Gate.memory()
  const url = new URL('./looping-worker.js', import.meta.url)
  const worker = new Worker(url, { workerData: { model, word } })
  worker.on('error', (error) => {
    throw error
  })
  // Some are ended in mid-start, while the library loads; the others amid their runs.
  if (index % 2 === 0) await once(worker, 'message')
  else await once(worker, 'online')
  const outside = await new Gate(word).close(30_000)
  await worker.terminate()
  return outside
}

let ended = 0
for (let round = 0; round < Number(rounds); round++) {
  const all = Array.from({ length: Number(threads) }, (_, index) => startAndEnd(index + round))
  ended += (await Promise.all(all)).filter(Boolean).length
}
console.log(`ended=${ended}`)
