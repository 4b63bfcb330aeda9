import { basename } from 'node:path'
import {
  asIfUndisturbed,
  atAnyMoment,
  atTheEnd,
  invariants as promises,
  type Seen,
} from '../../src/audit/invariants.ts'
import { entryKey } from '../../src/manifest/entry.ts'
import { isTempName, parseSpoolName } from '../../src/spool/name.ts'
import type { SimulatedDisk } from './disk.ts'
import type { Invariants } from './invariants.ts'
import type { Scenario } from './scenario.ts'
import type { Workload } from './workload.ts'

/** What must hold once a run has said that it is done. */

export interface Finished {
  readonly scenario: Scenario
  readonly workload: Workload
  readonly invariants: Invariants
  readonly disk: SimulatedDisk
  readonly code: number
  readonly extractorDeaths: number
}

/** Deaths at one batch that make it suspect, or its only row. */
const blamedMax = 3

/** What does not; undefined where all is well. */
export function finish(finished: Finished): string | undefined {
  const { extractorDeaths, code, disk, invariants, workload } = finished
  const names = [...disk.files.keys()].map((path) => basename(path))
  const seen: Seen = {
    entries: invariants.committed,
    objects: invariants.sizes,
    spooled: names.flatMap((name) => parseSpoolName(name) ?? []),
    temps: names.filter(isTempName).length,
  }
  const wanted = new Set(workload.expected.map(({ hash }) => hash))
  const [breach] = [
    ...atAnyMoment(seen, wanted),
    ...atTheEnd(seen, { wanted, failed: new Set(), named: null }),
    ...asIfUndisturbed(...digests(finished)),
  ]
  if (breach) return `${promises[breach.invariant]}: not so of ${breach.samples.join(', ')}`
  const quarantined = hashesOf(finished, 'quarantined')
  // Whoever is killed often enough at the same batch is rightly taken for its victim.
  const wrongly = quarantined.find((hash) => !workload.evilHashes.has(hash))
  if (wrongly !== undefined && extractorDeaths < blamedMax) return `wrongly quarantined: ${wrongly}`
  if (code === (quarantined.length > 0 ? 1 : 0)) return undefined
  return `exit code ${code} with ${quarantined.length} quarantined`
}

const hashesOf = ({ invariants }: Finished, status: 'stored' | 'quarantined'): string[] =>
  [...invariants.committed.values()].filter((e) => e.status === status).map(({ hash }) => hash)

/** Of what is stored: as it would be undisturbed, and as it is. */
function digests(finished: Finished): [Record<string, string>, Record<string, string>] {
  const stored = new Set(hashesOf(finished, 'stored'))
  const undisturbed = finished.workload.expected
    .filter(({ hash }) => stored.has(hash))
    .map(({ key, crc32 }) => [key, String(crc32)] as const)
  const found = [...finished.invariants.committed.values()]
    .filter(({ status }) => status === 'stored')
    .map((entry) => [entryKey(entry), String(entry.crc32)] as const)
  return [Object.fromEntries(undisturbed), Object.fromEntries(found)]
}
