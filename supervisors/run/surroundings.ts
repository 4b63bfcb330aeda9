import { openLog } from '../../src/log.ts'
import { isAlive, thisHolder } from '../../src/manifest/holder.ts'
import { realSurroundings, type Surroundings } from '../../src/surroundings.ts'
import type { Vessels } from '../engine/vessel.ts'
import type { LockSurroundings } from '../held-store.ts'
import { prepare } from './preflight.ts'

/** What a run meets that is not its own: passed in, so that a simulator can be all of it. */
export interface RunSurroundings extends Surroundings, LockSurroundings {
  readonly openLog: typeof openLog
  readonly prepare: typeof prepare
  /** What carries its actors: the real ones unless given. */
  readonly vessels?: Vessels
  /** Ends this process as SIGKILL does. */
  readonly die: () => void
}

/** This machine and this process. */
export const realRun: RunSurroundings = {
  ...realSurroundings,
  holder: thisHolder,
  isAlive,
  openLog,
  prepare,
  die: () => void process.kill(process.pid, 'SIGKILL'),
}
