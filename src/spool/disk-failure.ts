/** What the disk under the work folder may refuse, in words a person can act on. */
import { Failure, isFailure } from '../failure.ts'

const full = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])

/**
 * The failure for an error of a file operation: `unavailable` where room may come back, `invalid`
 * where it will not. An error without a system's code is a bug and comes back as it is.
 *
 * @param what   such as `sample not written`
 */
export function diskFailure(error: unknown, what: string, path: string): unknown {
  const code = errorCode(error)
  if (code === undefined || isFailure(error)) return error
  const facts = `${what}. path=${path}, code=${code}`
  if (full.has(code)) {
    const remedy = 'Free room on the disk of the work folder, or lower spool.maxBytes.'
    return new Failure('unavailable', facts, { remedy, cause: error })
  }
  const remedy =
    'Point `work` at a folder on a disk that can be written, where no file stands in its place.'
  return new Failure('invalid', facts, { remedy, cause: error })
}

const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error
    ? error.code
    : undefined
