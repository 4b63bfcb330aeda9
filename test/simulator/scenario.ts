import { type Random, seededRandom } from '../../src/clock.ts'
import type { Acknowledges, RequestFault } from './store.ts'

/** What a seed says: a small run, and what goes wrong in it. Data, so that it can be cut down. */

export type Fault =
  /**
   * Crash of an actor, of the process, of the machine, at a step; `pick` says which actor. Where
   * there is none, it waits for one, and all that come later wait as long.
   */
  | { readonly kind: 'actor'; readonly at: number; readonly pick: number }
  /** The same of one that waits for the store. */
  | { readonly kind: 'asking'; readonly at: number; readonly pick: number }
  | { readonly kind: 'process'; readonly at: number }
  | { readonly kind: 'machine'; readonly at: number; readonly disk: 'unsynced lost' | 'lost' }
  /** One actor, again and again. */
  | { readonly kind: 'storm'; readonly at: number; readonly actor: string; readonly times: number }
  /** An actor does nothing and answers nobody any more, and lives. */
  | { readonly kind: 'hang'; readonly at: number; readonly pick: number }
  /** The machine's clock is set. */
  | { readonly kind: 'clock'; readonly at: number; readonly ms: number }
  /** Someone starts the same run on another machine as well; that one goes away after so long. */
  | { readonly kind: 'second'; readonly at: number; readonly ms: number }
  /** A person orders an actor's end, or the run's. */
  | { readonly kind: 'order'; readonly at: number; readonly pick: number }
  | { readonly kind: 'stop'; readonly at: number }
  /** A spooled file is damaged where it lies. */
  | { readonly kind: 'rot'; readonly at: number }
  /** For so long the disk is full, or the store away. */
  | { readonly kind: 'full'; readonly at: number; readonly ms: number }
  | { readonly kind: 'away'; readonly at: number; readonly ms: number }
  | { readonly kind: 'request'; readonly number: number; readonly fault: RequestFault }

export interface Scenario {
  readonly seed: number
  readonly rows: number
  readonly extractors: number
  readonly uploaders: number
  readonly maxParallel: number
  readonly commitEvery: number
  /** Bytes. */
  readonly spoolMax: number
  readonly acknowledges: Acknowledges
  /** Rows of the dataset that end their extractor, or whose states are not finite. */
  readonly poison: number | null
  readonly nan: number | null
  /** Another run had this work folder until just before. */
  readonly hadFormer: boolean
  readonly faults: readonly Fault[]
}

/**
 * Steps from one crash to the next are a power of two with an exponent below this: bursts, within
 * which restarts are counted, and stretches in which a run comes far.
 */
const gapBits = 8
const requestsUsual = 240
export const rowsMax = 8

/** @param requestFaults  so many requests, at most, meet a fault */
export function scenarioOf(seed: number, requestFaults = 8): Scenario {
  const random = seededRandom(seed)
  const below = (end: number) => Math.floor(random() * end)
  const rows = 3 + below(rowsMax - 2)
  const evil = below(12)
  return {
    seed,
    rows,
    extractors: 1 + below(2),
    uploaders: 1 + below(2),
    maxParallel: 2 + below(5),
    commitEvery: 1 + below(5),
    spoolMax: 30_000 + below(60_000),
    acknowledges: pickOf(['checksum', 'checksum', 'etag', 'nothing'], random),
    poison: evil === 0 ? below(rows) : null,
    nan: evil === 1 ? below(rows) : null,
    hadFormer: random() < 0.25,
    faults: faultsOf(random, requestFaults),
  }
}

function faultsOf(random: Random, requestFaults: number): Fault[] {
  const below = (end: number) => Math.floor(random() * end)
  let last = below(200)
  const next = () => {
    last += Math.floor(2 ** (random() * gapBits))
    return last
  }
  const faults: Fault[] = Array.from({ length: 4 + below(18) }, () => crash(random, next()))
  const at = () => below(last)
  if (random() < 0.2) {
    const actor = pickOf(['uploader/0', 'ledger', 'reader'], random)
    faults.push({ kind: 'storm', at: at(), actor, times: 2 + below(8) })
  }
  if (random() < 0.15) faults.push({ kind: 'stop', at: at() })
  if (random() < 0.4) faults.push({ kind: 'rot', at: at() })
  if (random() < 0.15) faults.push({ kind: 'full', at: at(), ms: below(20_000) })
  if (random() < 0.15) faults.push({ kind: 'clock', at: at(), ms: pickOf(clockMs, random) })
  if (random() < 0.15) faults.push({ kind: 'second', at: at(), ms: below(60_000) })
  if (random() < 0.15) faults.push({ kind: 'away', at: at(), ms: below(60_000) })
  for (let left = below(requestFaults); left > 0; left--) {
    const fault = pickOf(faultsOfRequests, random)
    faults.push({ kind: 'request', number: below(requestsUsual), fault })
  }
  return faults
}

function crash(random: Random, at: number): Fault {
  const chance = random()
  if (chance < 0.45) return { kind: 'actor', at, pick: random() }
  if (chance < 0.77) return { kind: 'asking', at, pick: random() }
  if (chance < 0.78) return { kind: 'hang', at, pick: random() }
  if (chance < 0.82) return { kind: 'order', at, pick: random() }
  if (chance < 0.92) return { kind: 'process', at }
  return { kind: 'machine', at, disk: random() < 0.7 ? 'unsynced lost' : 'lost' }
}

/** Back by an hour, as at the end of a summer, or on. */
const clockMs = [-3_600_000, -3_600_000, 3_600_000] as const

const faultsOfRequests: readonly RequestFault[] = [
  'lost',
  'answer lost',
  'answer lost',
  'late',
  'twice',
  'SlowDown',
  'half kept',
]

const pickOf = <T>(all: readonly T[], random: Random): T => all[Math.floor(random() * all.length)]
