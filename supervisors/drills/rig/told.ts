import { z } from 'zod'
import type { Ended, Running } from './process.ts'
import type { Rig } from './rig.ts'

/** What a run says of its end, on stdout. */

const toldSchema = z.object({
  reason: z.string().nullish(),
  remedy: z.string().nullish(),
  extracted: z.object({ samples: z.number() }).nullish(),
})

export type Told = z.output<typeof toldSchema>

/** One that ended otherwise than it should may have said nothing. */
export function toldOf({ stdout }: Pick<Ended, 'stdout'>): Told {
  try {
    return toldSchema.parse(JSON.parse(stdout))
  } catch {
    return {}
  }
}

export interface Telling {
  readonly code: number
  /** What its reason must name. */
  readonly names?: string
}

/** It refuses, or gives up: with this exit code, saying why, and what to do. */
export async function endsTelling(
  rig: Rig,
  running: Running,
  { code, names = '' }: Telling,
): Promise<void> {
  const { reason, remedy } = toldOf(await rig.exits(running, code))
  rig.check('it names what is wrong', reason?.includes(names) ?? false, reason ?? 'no reason')
  rig.check('it says what to do', typeof remedy === 'string')
}
