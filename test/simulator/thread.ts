import { type MessagePort, workerData } from 'node:worker_threads'
import { serve } from '../../protocol/channel.ts'
import { faultyParts } from './faulty.ts'
import { searchContract } from './search.ts'
import { Simulator } from './simulator.ts'

/** The thread that simulates: of its seeds one after the other. */
const port = workerData as MessagePort
const simulator = await Simulator.open()
serve(port, searchContract, {
  search: (chunk) => simulator.search(chunk),
  tell: (failing) => simulator.tell(failing),
  parts: () => Object.keys(faultyParts),
  close: async () => {
    await simulator.close()
    setImmediate(() => port.close())
  },
})
