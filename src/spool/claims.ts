/**
 * Which batch each extractor is computing, and how often a batch ended the one that held it. Small
 * files under `<work>/claims`, so that the count outlives threads and processes; any thread may
 * open them, and each acts at once. A claim that a crash of the machine tore counts as none.
 */
import { join } from 'node:path'
import { type DiskUse, systemDiskUse } from '../disk.ts'
import { ClaimFiles, type ClaimRecord } from './claim-files.ts'
import {
  isStorm,
  streakAfter,
  streakAfterQuarantine,
  type Verdict,
  verdictOn,
} from './suspicion.ts'

export interface Claims {
  /** Before computing. Deaths counted for the batch stay. */
  claim(batchId: string, claim: { readonly by: string; readonly rows: number }): void
  /** The batch came to an end: its claim and its deaths are forgotten, and so is the streak. */
  done(batchId: string): void
  /** Its one row was given up: forgotten like a batch that is done, but no end of the streak. */
  quarantined(batchId: string): void
  /**
   * After the death of `by`: counts it for the batch it held.
   *
   * @returns   the batch; null where it held none
   */
  charge(by: string, how: { readonly witnessed: boolean }): string | null
  /**
   * At the start of a process, before its actors, for the claims of the one before. Where nobody
   * saw it die, someone has started anew, and the streak is forgotten.
   *
   * @returns   the batches
   */
  chargeAll(how: { readonly witnessed: boolean }): readonly string[]
  /** After a death that was ordered: the claim goes, and nothing is counted. */
  forgive(by: string): string | null
  /** The run is done: of what was under suspicion, only what was halved stays known. */
  settle(): void
  /** Everything is tried as if for the first time: no claim, no death, nothing halved. */
  clear(): void
  /** Who has claimed it; also one that has died since and whose death is not judged yet. */
  holder(batchId: string): string | null
  /** It was held at a death. */
  isSuspect(batchId: string): boolean
  verdict(batchId: string, rows: number): Verdict
  /** Batches that are run as halves, in order. They stay known when their halves are done. */
  halved(): readonly string[]
  /** Three different batches ended their extractors, and none was done between. */
  storm(): boolean
}

/** @throws Failure `invalid`: the folder cannot be made */
export function openClaims(work: string, use: DiskUse = systemDiskUse): Claims {
  const files = new ClaimFiles(join(work, 'claims'), use)
  const held = () => files.records().filter((record) => record.by !== null)

  const count = (record: ClaimRecord, { witnessed }: { readonly witnessed: boolean }): string => {
    const deaths = witnessed
      ? { witnessed: record.witnessed + 1 }
      : { unwitnessed: record.unwitnessed + 1 }
    files.write(record.batch, { ...record, ...deaths, by: null })
    return record.batch
  }
  const release = (record: ClaimRecord): string => {
    if (record.witnessed + record.unwitnessed === 0) files.remove(record.batch)
    else files.write(record.batch, { ...record, by: null })
    return record.batch
  }

  return {
    claim(batch, { by, rows }) {
      // Of an end that nobody judged, such as that of all extractors at once.
      for (const stale of held()) if (stale.by === by && stale.batch !== batch) release(stale)
      const { witnessed, unwitnessed } = files.read(batch) ?? { witnessed: 0, unwitnessed: 0 }
      files.write(batch, { batch, rows, by, witnessed, unwitnessed })
    },
    done(batch) {
      files.remove(batch)
      files.writeStreak([])
    },
    quarantined(batch) {
      files.remove(batch)
      files.writeStreak(streakAfterQuarantine(files.streak(), batch))
    },
    charge(by, how) {
      const record = held().find((found) => found.by === by)
      if (!record) return null
      if (how.witnessed) files.writeStreak(streakAfter(files.streak(), [record.batch]))
      return count(record, how)
    },
    chargeAll(how) {
      files.sweep()
      const batches = held().map((record) => count(record, how))
      files.writeStreak(how.witnessed ? streakAfter(files.streak(), batches) : [])
      return batches
    },
    forgive(by) {
      const record = held().find((found) => found.by === by)
      return record ? release(record) : null
    },
    settle() {
      for (const record of files.records()) {
        if (verdictOn(record.batch, record.rows, record) !== 'halve') files.remove(record.batch)
      }
    },
    clear() {
      for (const record of files.records()) files.remove(record.batch)
      files.writeStreak([])
    },
    holder: (batch) => files.read(batch)?.by ?? null,
    isSuspect(batch) {
      const record = files.read(batch)
      return record !== undefined && record.witnessed + record.unwitnessed > 0
    },
    verdict(batch, rows) {
      return verdictOn(batch, rows, files.read(batch) ?? { witnessed: 0, unwitnessed: 0 })
    },
    halved: () =>
      files
        .records()
        .filter((record) => verdictOn(record.batch, record.rows, record) === 'halve')
        .map((record) => record.batch)
        .sort(),
    storm: () => isStorm(files.streak()),
  }
}
