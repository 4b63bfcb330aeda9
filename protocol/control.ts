import type { ChangedSettings } from '../src/config/live-settings.ts'
import type { LogTarget } from '../src/log.ts'
import { request } from './contract.ts'
import type { Port } from './port.ts'

/** What a supervisor gives to an actor, and asks of it. */

/** What a thread is born with: its Worker's `workerData`. */
export interface Birth<Input> {
  readonly id: string
  /** 1 for the first start of this actor in this process. */
  readonly generation: number
  readonly input: Input
  /** The other end is the supervisor's, which asks `controlContract` on it. */
  readonly control: Port
  /** Of a Pulse. */
  readonly pulse: SharedArrayBuffer
  readonly beatMs: number
  readonly log: LogTarget
}

/** A port to another actor. Of two to the same one, the higher generation is the newer. */
export interface Wire {
  readonly actor: string
  readonly generation: number
  readonly port: Port
}

/** The supervisor holds its own deadlines, which are each child's and shorter. */
const day = { withinMs: 86_400_000 }

export const controlContract = {
  /** Settles when the actor says that it is live. */
  ready: request<void, void>(day),
  /** The actor may ask the one named through this port. */
  wire: request<Wire, void>(day),
  /** The one named asks the actor through this port. */
  serve: request<Wire, void>(day),
  /** The one named does not come back: what is asked of it fails at once, and is not waited for. */
  unwire: request<string, void>(day),
  /** Settings that hold from now on; those that are not named stay as they are. */
  change: request<ChangedSettings, void>(day),
  /** Take no new work; settles when what was held is done. Idempotent. */
  drain: request<void, void>(day),
  /** End the thread. */
  exit: request<void, void>(day),
}
