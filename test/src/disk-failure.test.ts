import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diskFailure } from '../../src/disk-failure.ts'
import { isFailure } from '../../src/failure.ts'
import { spoolFailure } from '../../src/spool/spool-failure.ts'

const undone = { what: 'not written', path: '/work' }
const refusal = (code: string) => Object.assign(new Error(code), { code, syscall: 'write' })

function told(of: typeof spoolFailure, code: string): [string, string | undefined] {
  const failure = of(refusal(code), undone)
  assert.ok(isFailure(failure), code)
  assert.equal(failure.message, `not written. path=/work, code=${code}`)
  return [failure.kind, failure.remedy]
}

test('disk failure: what the disk refuses is sorted by who can act on it', () => {
  for (const code of ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE']) {
    assert.equal(told(diskFailure, code)[0], 'unavailable', code)
  }
  for (const code of ['EROFS', 'EACCES', 'ENOENT', 'ENOTDIR', 'EIO']) {
    assert.equal(told(diskFailure, code)[0], 'invalid', code)
  }
  const bug = new TypeError('a bug')
  assert.equal(diskFailure(bug, undone), bug)
})

test('disk failure: the remedy is one for the files that it is about', () => {
  const spoolOnly = /lower spool\.maxBytes/
  assert.match(told(spoolFailure, 'ENOSPC')[1] ?? '', spoolOnly)
  assert.doesNotMatch(told(diskFailure, 'ENOSPC')[1] ?? '', spoolOnly)
  for (const of of [spoolFailure, diskFailure]) {
    assert.match(told(of, 'EMFILE')[1] ?? '', /ulimit -n/)
    assert.match(told(of, 'EACCES')[1] ?? '', /^Point `work` at a folder/)
  }
  const others = { full: 'x', refused: 'See who may read it.' }
  const failure = diskFailure(refusal('EACCES'), undone, others)
  assert.equal(isFailure(failure) && failure.remedy, 'See who may read it.')
})
