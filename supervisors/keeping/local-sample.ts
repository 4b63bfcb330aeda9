import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { isFailure } from '../../src/failure.ts'
import { openClaims } from '../../src/spool/claims.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { askSupervisor } from '../run/workplace.ts'

/** What this machine's work folder knows of a sample. */

export interface LocalSample {
  /** Its finished file that waits for the store. */
  readonly spooled: { readonly path: string; readonly bytes: number } | null
  /** Why the store would not take it, as the supervisor at work here says. */
  readonly failed: string | null
  readonly batch: BatchFacts | null
}

export interface BatchFacts {
  readonly id: string
  /** The extractor that computes it, or that died of it. */
  readonly holder: string | null
  /** It was held at a death. */
  readonly isSuspect: boolean
  /** Itself, or halves of it, that run as halves to find what kills. */
  readonly halved: readonly string[]
}

const statusSchema = z.object({
  status: z.object({
    ledger: z
      .object({ failed: z.array(z.object({ hash: z.string(), reason: z.string() })) })
      .nullable(),
  }),
})

/** Changes nothing, and makes no folder. */
export async function localSample(
  work: string,
  hash: string,
  batch: string | null,
): Promise<LocalSample> {
  return {
    spooled: await spooledFile(work, hash),
    failed: await failedReason(work, hash),
    batch: batch === null ? null : batchFacts(work, batch),
  }
}

async function spooledFile(work: string, hash: string): Promise<LocalSample['spooled']> {
  if (!existsSync(join(work, 'spool'))) return null
  const spool = await openSpool(join(work, 'spool'))
  const sample = (await spool.list()).samples.find((one) => one.hash === hash)
  return sample ? { path: spool.path(sample), bytes: sample.bytes } : null
}

async function failedReason(work: string, hash: string): Promise<string | null> {
  try {
    const { data } = statusSchema.safeParse(await askSupervisor(work, 'status'))
    return data?.status.ledger?.failed.find((one) => one.hash === hash)?.reason ?? null
  } catch (error) {
    if (isFailure(error, 'unavailable')) return null
    throw error
  }
}

function batchFacts(work: string, id: string): BatchFacts {
  if (!existsSync(join(work, 'claims'))) return { id, holder: null, isSuspect: false, halved: [] }
  const claims = openClaims(work)
  const halved = claims.halved().filter((half) => half === id || half.startsWith(`${id}.`))
  return { id, holder: claims.holder(id), isSuspect: claims.isSuspect(id), halved }
}
