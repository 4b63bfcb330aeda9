import type { Difference } from '../../src/audit/compare.ts'
import { wallClock } from '../../src/clock.ts'
import { nextRound } from '../../src/manifest/attempt.ts'
import type { ManifestEntry } from '../../src/manifest/entry.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { StillHeld } from '../held-store.ts'
import { warnsOfDamage } from './damaged-note.ts'

/** Lines a segment. */
const segmentLines = 1000

/**
 * Marks samples as lost, so that the next run extracts them again. The lines that say stored stay:
 * those of a later round beat them.
 *
 * @returns  how many
 * @throws   Failure `superseded`: a supervisor has taken the run over
 */
export async function markLost(
  store: ObjectStore,
  differ: readonly Difference[],
  stillHeld: StillHeld,
): Promise<number> {
  const writer = newWriterId(wallClock, Math.random)
  const manifest = openManifest(store, { writer, damaged: warnsOfDamage('verify') })
  const table = await manifest.replay()
  const losses = differ.flatMap(({ hash, problem }): ManifestEntry[] => {
    const entry = table.get(hash)
    if (entry?.status !== 'stored') return []
    const { tokens, attempt } = entry
    const nothing = { key: null, offset: 0, length: 0, crc32: 0 }
    const reason = `its object ${problem}`
    return [{ hash, tokens, ...nothing, status: 'lost', reason, attempt: nextRound(attempt) }]
  })
  for (let at = 0; at < losses.length; at += segmentLines) {
    stillHeld()
    await manifest.append(losses.slice(at, at + segmentLines))
  }
  await manifest.noted()
  return losses.length
}
