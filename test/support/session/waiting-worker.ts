/**
 * A worker at a gate, without native code: enters and leaves when told to, and says that it has.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Gate } from '../../../src/session/gate.ts'

const gate = new Gate(workerData)
parentPort?.on('message', (order: 'enter' | 'leave') => {
  gate[order]()
  parentPort?.postMessage(order)
})
