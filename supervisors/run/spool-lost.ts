import { join } from 'node:path'
import { systemDiskUse } from '../../src/disk.ts'
import { Failure } from '../../src/failure.ts'
import { spoolFault } from '../../src/spool/fault.ts'
import type { TreeEvent } from '../engine/events.ts'

/**
 * Why the run cannot go on, where an actor has died because the spool takes no files any more. To
 * start it again would make it die again, or make a new spool where its disk should be.
 *
 * @returns  a Failure `unavailable`: work was under way, so this is giving up, and no refusal
 */
export function spoolLost(
  event: TreeEvent,
  work: string,
  use = systemDiskUse,
): Failure | undefined {
  if (event.kind !== 'died') return undefined
  const { cause, failure } = event.death
  // One that was up had found the folder, or made it.
  if (cause !== 'crash' || failure?.kind !== 'invalid') return undefined
  const fault = spoolFault(join(work, 'spool'), use)
  if (!fault) return undefined
  const remedy = fault.remedy === undefined ? {} : { remedy: fault.remedy }
  return new Failure('unavailable', fault.message, { ...remedy, cause: fault.cause })
}
