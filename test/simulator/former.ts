import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { parseSpoolName, spoolName } from '../../src/spool/name.ts'
import type { SimulatedDisk } from './disk.ts'

/** What another run has left in the work folder, a moment before this one began. */

const bytes = Buffer.from('a sample of another run')
const name = spoolName({
  hash: 'ab'.repeat(16),
  tokens: 3,
  bytes: bytes.length,
  crc32: crc32(bytes),
})

/** It sent all that it had, and removed it; no folder has written that down yet. */
export function leaveFormer(disk: SimulatedDisk, work: string): void {
  disk.makeFolder(work)
  disk.create(join(work, 'spool-of-run'), Buffer.from('another run\n'), true)
  disk.haunt(join(work, 'spool', name), bytes)
}

/**
 * After a crash before this run has taken the folder the sample may be there again, and the run is
 * right to refuse: a person removes it. False where other samples lie there.
 */
export function removesFormer({ files }: SimulatedDisk, work: string): boolean {
  const samples = [...files.keys()].filter((path) => parseSpoolName(basename(path)))
  if (samples.some((path) => basename(path) !== name)) return false
  return files.delete(join(work, 'spool', name))
}
