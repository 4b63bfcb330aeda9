import { explain, isFailure } from '../../src/failure.ts'
import type { Drill } from './drill.ts'
import type { Figures } from './measure.ts'
import type { Ground } from './rig/ground.ts'
import type { Check, Rig } from './rig/rig.ts'

/** What came of a drill. */
export interface DrillReport {
  readonly name: string
  readonly breaks: string
  readonly matters: string
  readonly outcome: 'held' | 'broken' | 'skipped'
  /** Why it was skipped, or could not be held to its end; null where it was. */
  readonly reason: string | null
  /** Each once, in the order they were first asked. */
  readonly checks: readonly Check[]
  /** Null where it was skipped. */
  readonly figures: Figures | null
  readonly seconds: number
}

/** Holds one drill, and leaves nothing of it behind. */
export async function hold(drill: Drill, ground: Ground): Promise<DrillReport> {
  const began = performance.now()
  const { name, breaks, matters, needs = [] } = drill
  const about = { name, breaks, matters }
  const lacks = needs.map((need) => ground.lacks(need)).find((reason) => reason !== null)
  if (lacks) return { ...about, ...skipped, reason: lacks }
  const ending = ground.scope()
  try {
    const rig = await ground.rig(drill, ending)
    const few = tooFew(rig)
    if (few) return { ...about, ...skipped, reason: few }
    ground.step('the run that is broken')
    const reason = await held(drill, rig)
    const checks = eachOnce(rig.checks)
    const isHeld = reason === null && checks.every((check) => check.held)
    const figures = await rig.figures()
    const seconds = (performance.now() - began) / 1000
    return { ...about, outcome: isHeld ? 'held' : 'broken', reason, checks, figures, seconds }
  } finally {
    await ending.end()
  }
}

/** Fewer leave no work for what comes after a death; one that dies thrice is computed in halves. */
const batchesMin = 6

function tooFew({ calm: { batches, samples } }: Rig): string | null {
  if (batches >= batchesMin) return null
  const found = `${samples} samples make ${batches}`
  return `needs ${batchesMin} batches, and ${found}: raise --samples, or lower extract.maxTokens`
}

const skipped = { outcome: 'skipped', checks: [], figures: null, seconds: 0 } as const

/** Null; or why it did not come to its end. A bug of the drill's own is thrown on. */
async function held(drill: Drill, rig: Rig): Promise<string | null> {
  try {
    await drill.run(rig)
    return null
  } catch (error) {
    if (!isFailure(error)) throw error
    return explain(error)
  }
}

/** Asked after each death, an invariant holds where it held every time. */
function eachOnce(checks: readonly Check[]): Check[] {
  const all = new Map<string, Check>()
  for (const { what, held, samples } of checks) {
    const before = all.get(what)
    const found = [...new Set([...(before?.samples ?? []), ...samples])]
    all.set(what, { what, held: held && (before?.held ?? true), samples: found })
  }
  return [...all.values()]
}
