/**
 * A worker that runs a model over and over, as an extractor does, until it is ended from outside.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Gate } from '../../../src/session/gate.ts'
import { openSession } from '../../../src/session/session.ts'

const { model, word }: { model: string; word: Int32Array<SharedArrayBuffer> } = workerData
const session = await openSession(model, { device: 'cpu', threads: 1, gate: new Gate(word) })
const data = BigInt64Array.from({ length: 8 * 64 }, (_, i) => BigInt(i % 300))
for (let runs = 0; ; runs++) {
  await session.run({ input_ids: { dtype: 'I64', shape: [8, 64], data } })
  parentPort?.postMessage(runs)
}
