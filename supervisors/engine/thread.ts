import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Birth } from '../../protocol/control.ts'
import { Pulse, type PulseReading } from '../../protocol/pulse.ts'
import { Gate } from '../../src/session/gate.ts'
import type { Start, Vessel } from './vessel.ts'

/** A Worker. It shares its pulse and its gate with this thread. */
export class Thread implements Vessel {
  readonly control: MessagePort
  readonly pid = null
  readonly #worker: Worker
  readonly #pulse = new Pulse()
  readonly #gate = new Gate(this.#pulse.gateWord)
  readonly #clock: Start['clock']

  constructor({ spec, generation, clock, log, onEnd }: Start) {
    const { port1, port2 } = new MessageChannel()
    this.control = port1
    this.#clock = clock
    const birth: Birth<unknown> = {
      id: spec.id,
      generation,
      input: spec.input,
      control: port2,
      pulse: this.#pulse.memory,
      beatMs: spec.heartbeatMs / 4,
      log,
    }
    this.#worker = new Worker(spec.entry, {
      name: spec.id,
      workerData: birth,
      transferList: [port2],
    })
    let thrown: unknown
    this.#worker.on('error', (error) => {
      thrown = error
    })
    this.#worker.on('exit', (code) => onEnd({ code, signal: null, error: thrown }))
  }

  reading(): PulseReading {
    return this.#pulse.read()
  }

  get isInside(): boolean {
    return this.#gate.isInside
  }

  async end(patienceMs: number): Promise<boolean> {
    const outside = await this.#gate.close(patienceMs, this.#clock)
    if (outside) await this.#worker.terminate()
    return outside
  }
}
