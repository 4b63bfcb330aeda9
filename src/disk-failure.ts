/** What a disk may refuse, in words a person can act on. */
import { Failure, isFailure } from './failure.ts'

const full = new Set(['ENOSPC', 'EDQUOT'])
const tooManyOpen = new Set(['EMFILE', 'ENFILE'])

/** What was not done, and to which file or folder. */
export interface Undone {
  /** Such as `sample not written`. */
  readonly what: string
  readonly path: string
}

export interface DiskRemedies {
  readonly full: string
  /** Where nothing changes by waiting: rights, a disk that is read-only, or broken. */
  readonly refused: string
}

/** Of whatever is kept in the work folder. */
export const ofWorkFolder: DiskRemedies = {
  full: 'Free room on the disk of the work folder.',
  refused:
    'Point `work` at a folder on a disk that can be written, where no file stands in its place.',
}

/**
 * The failure for an error of a file operation: `unavailable` where room may come back, `invalid`
 * where it will not. An error without a system's code is a bug and comes back as it is.
 */
export function diskFailure(
  error: unknown,
  { what, path }: Undone,
  remedies: DiskRemedies = ofWorkFolder,
): unknown {
  const code = errorCode(error)
  if (code === undefined || isFailure(error)) return error
  const facts = `${what}. path=${path}, code=${code}`
  if (full.has(code)) {
    return new Failure('unavailable', facts, { remedy: remedies.full, cause: error })
  }
  if (tooManyOpen.has(code)) {
    const remedy = 'Raise the number of files that may be open at once: `ulimit -n`.'
    return new Failure('unavailable', facts, { remedy, cause: error })
  }
  return new Failure('invalid', facts, { remedy: remedies.refused, cause: error })
}

const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error
    ? error.code
    : undefined
