import { setImmediate as turn } from 'node:timers/promises'
import { type Clock, systemClock, wallClock } from './clock.ts'
import { type DiskUse, systemDiskUse } from './disk.ts'
import { openStore } from './store/open.ts'
import type { StorePlace } from './store/patient.ts'
import type { ObjectStore } from './store/store.ts'

/** What an actor meets that is no other actor: passed in, so that a simulator can be all of it. */
export interface Surroundings extends DiskUse {
  /** For durations; and as it is set, for moments that others read. */
  readonly clock: Clock
  readonly wall: Clock
  /** Milliseconds that only grow, for what is measured. */
  readonly monotonic: () => number
  /** Settles when others of the thread have had a turn. */
  readonly turn: () => Promise<void>
  /** As it is, without permits and retries: see `patientStore`. */
  readonly openStore: (place: StorePlace) => Promise<ObjectStore>
}

/** This machine, and the store that is configured. */
export const realSurroundings: Surroundings = {
  ...systemDiskUse,
  clock: systemClock,
  wall: wallClock,
  monotonic: () => performance.now(),
  turn,
  openStore: ({ url, s3 }) => openStore(url, s3),
}
