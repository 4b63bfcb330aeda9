import { join } from 'node:path'
import { randomHex } from '../clock.ts'
import { type DiskUse, systemDiskUse } from '../disk.ts'
import { Failure, hasCode, isFailure } from '../failure.ts'
import { tempName } from './name.ts'
import { spoolFailure } from './spool-failure.ts'

/**
 * Why no file can be put into the spool's folder, and none ever will be unless a person does
 * something: it has gone, its disk is read-only, or broken. Undefined where one can, and where the
 * disk is merely full. Blocks for one small file; removes it.
 */
export function spoolFault(
  dir: string,
  { disk, random }: DiskUse = systemDiskUse,
): Failure | undefined {
  const path = join(dir, tempName('0.safetensors', randomHex(random, 16)))
  try {
    disk.now.create(path, new Uint8Array())
    disk.now.remove(path)
    return undefined
  } catch (error) {
    const failure = spoolFailure(error, { what: 'the spool takes no files', path: dir })
    if (!isFailure(failure)) throw error
    if (failure.kind === 'unavailable') return undefined
    if (!hasCode(error, 'ENOENT')) return failure
    return new Failure('invalid', `the spool's folder has gone. path=${dir}`, {
      remedy: 'See that its disk is mounted, then run again: what was in it is computed again.',
      cause: error,
    })
  }
}
