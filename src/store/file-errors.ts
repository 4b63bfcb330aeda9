/**
 * What the file system's errors mean to whoever stores: what may pass, what a person must change.
 */
import { Failure, type FailureKind } from '../failure.ts'

interface Meaning {
  readonly kind: FailureKind
  readonly says: string
  readonly remedy?: string
}

const FULL = 'Free space there, or move the store; then it goes on.'
const RIGHTS = 'Give this user the right to write there, or name another place.'

const meanings: Readonly<Record<string, Meaning>> = {
  ENOSPC: { kind: 'unavailable', says: 'no space is left', remedy: FULL },
  EDQUOT: { kind: 'unavailable', says: 'the disk quota is used up', remedy: FULL },
  EMFILE: { kind: 'unavailable', says: 'this process has too many files open' },
  ENFILE: { kind: 'unavailable', says: 'this machine has too many files open' },
  EIO: { kind: 'unavailable', says: 'the device failed', remedy: 'Look at the disk’s health.' },
  EAGAIN: { kind: 'unavailable', says: 'the file system is busy' },
  EBUSY: { kind: 'unavailable', says: 'the file system is busy' },
  ESTALE: { kind: 'unavailable', says: 'the network file system lost the file' },
  ETIMEDOUT: { kind: 'unavailable', says: 'the network file system does not answer' },
  EACCES: { kind: 'invalid', says: 'not allowed', remedy: RIGHTS },
  EPERM: { kind: 'invalid', says: 'not allowed', remedy: RIGHTS },
  ENOENT: { kind: 'invalid', says: 'the file system takes no new folder', remedy: RIGHTS },
  EROFS: { kind: 'invalid', says: 'the file system is read-only', remedy: RIGHTS },
  ENOTDIR: {
    kind: 'invalid',
    says: 'a file is in the place of a folder',
    remedy: 'Move that file away, or name another place.',
  },
  EISDIR: {
    kind: 'invalid',
    says: 'a folder is in the place of a file',
    remedy: 'Move that folder away, or use another key.',
  },
  ELOOP: { kind: 'invalid', says: 'symbolic links lead round in a circle' },
  ENAMETOOLONG: { kind: 'invalid', says: 'a name is longer than the file system takes' },
  EFBIG: { kind: 'invalid', says: 'the file is bigger than the file system takes' },
  ENOTSUP: {
    kind: 'invalid',
    says: 'the file system has no hard links',
    remedy: 'Name a place on a file system with hard links.',
  },
}
// mkdir says EEXIST where a file bears the folder's name; rename says ENOTEMPTY for a full folder.
const aliases: Readonly<Record<string, string>> = { EEXIST: 'ENOTDIR', ENOTEMPTY: 'EISDIR' }

/** A handle that is closed, an argument that no file system takes: what calls it is wrong. */
const bugs: ReadonlySet<string> = new Set(['EBADF', 'EINVAL'])

const failed = (code: string): Meaning => ({
  kind: 'unavailable',
  says: `the file system fails with ${code}`,
  remedy: 'See that the disk is there, and mounted.',
})

/**
 * The Failure that a file system's error means. A Failure, or an error that is none of these,
 * comes back as it is: a bug must stay one.
 */
export function fileFailure(
  error: unknown,
  at: { readonly doing: string; readonly path: string },
): unknown {
  if (error instanceof Failure || !(error instanceof Error)) return error
  if (!('code' in error) || typeof error.code !== 'string') return error
  if (bugs.has(error.code)) return error
  const known = meanings[aliases[error.code] ?? error.code]
  // Of the system, as a mount that has died says ENOTCONN: it may be there again later.
  const meaning = known ?? ('syscall' in error ? failed(error.code) : undefined)
  if (!meaning) return error
  const { kind, says, remedy } = meaning
  return new Failure(kind, `cannot ${at.doing}: ${says}. path=${at.path}`, {
    cause: error,
    ...(remedy !== undefined && { remedy }),
  })
}
