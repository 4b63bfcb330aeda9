import { join } from 'node:path'
import type { ChildSpec, Death } from '../../protocol/child.ts'
import type { Config } from '../../src/config/schema.ts'
import { type DiskUse, systemDiskUse } from '../../src/disk.ts'
import { isFailure } from '../../src/failure.ts'
import { openClaims } from '../../src/spool/claims.ts'
import { spoolFault } from '../../src/spool/fault.ts'
import { loadMs } from './deadline.ts'

export interface ExtractorInput {
  readonly device: string
  readonly threads: number
  readonly target: {
    readonly path: string
    readonly captureFinal: boolean
    readonly layers: readonly number[]
    readonly fingerprint: string
    /** A target that changes while the run goes on is refused. */
    readonly stamp: string
  }
  readonly dtype: Config['extract']['dtype']
  readonly work: string
  /** Bytes that the disk of the spool keeps free. */
  readonly keepFree: number
}

interface Carried {
  readonly isolation: Config['extract']['isolation']
  /** Of the work folder, by whoever judges its deaths; default: the machine's. */
  readonly use?: DiskUse
}

/** Batches → hidden states of the target, one spooled file a sample. One actor for each device. */
export const extractor = (
  index: number,
  input: ExtractorInput,
  { isolation, use = systemDiskUse }: Carried,
): ChildSpec => ({
  id: `extractor/${index}`,
  entry: new URL('./worker.js', import.meta.url),
  isolation,
  input,
  asks: ['reader', 'ledger'],
  restart: 'always',
  readyMs: loadMs,
  drainMs: 600_000, // the batch in hand
  drainsAfter: ['reader'],
  heartbeatMs: 30_000,
  blame: (death) => blame(death, input.work, use),
})

/**
 * A death that holds a claim is the batch's fault; one that was ordered is nobody's, and one of a
 * spool that takes no files is the disk's. Without a claim it is the extractor's own.
 */
function blame(death: Death, work: string, use: DiskUse): 'child' | 'work' {
  try {
    return judge(death, work, use)
  } catch (error) {
    // Without its claims nobody can say that it was a batch.
    if (!isFailure(error)) throw error
    return 'child'
  }
}

function judge(death: Death, work: string, use: DiskUse): 'child' | 'work' {
  const claims = openClaims(work, use)
  if (death.cause === 'ordered') {
    claims.forgive(death.child)
    return 'work'
  }
  if (spoolFault(join(work, 'spool'), use)) {
    claims.forgive(death.child)
    return 'child'
  }
  return claims.charge(death.child, { witnessed: true }) === null ? 'child' : 'work'
}
