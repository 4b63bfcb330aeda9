import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, hasCode, isFailure } from '../failure.ts'
import { tempName } from './name.ts'
import { spoolFailure } from './spool-failure.ts'

/**
 * Why no file can be put into the spool's folder, and none ever will be unless a person does
 * something: it has gone, its disk is read-only, or broken. Undefined where one can, and where the
 * disk is merely full. Blocks for one small file; removes it.
 */
export function spoolFault(dir: string): Failure | undefined {
  const path = join(dir, tempName('0.safetensors', randomBytes(8).toString('hex')))
  try {
    closeSync(openSync(path, 'wx'))
    rmSync(path, { force: true })
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
