import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { openSpool } from '../../../src/spool/spool.ts'
import { assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { filesBelow, fileUrl, folder, writeConfig } from '../../support/commands/golden-job.ts'

test('run: what one run spooled goes to no other store, though all else is the same', async (t) => {
  const dir = folder(t)
  const own = writeConfig(dir, 'job')
  const other = writeConfig(dir, 'job-b', {
    work: join(dir, 'job', 'work'),
    store: fileUrl(dir, 'b'),
  })
  assert.equal((await draftsmith(['run', own], { dir })).code, 0)
  const spool = await openSpool(join(dir, 'job', 'work', 'spool'))
  const bytes = Buffer.from('left by the first run')
  const kept = { hash: 'ab'.repeat(16), tokens: 1, bytes: bytes.length, crc32: crc32(bytes) }
  const sample = await spool.add({ ...kept, parts: [bytes] })

  const says = [/the spool holds samples of another run.*samples=1/, /Give this run another work/]
  const ran = await draftsmith(['run', other], { dir })
  assertRefused(ran, { says })
  const checked = await draftsmith(['check', other], { dir })
  assert.equal(checked.code, 2, checked.stderr)
  assert.match(checked.stdout, /^WRONG {2}spool .*holds samples of another run/m)
  const fine = await draftsmith(['check', own], { dir })
  assert.match(fine.stdout, /^ok {5}spool +1 samples wait in it$/m)
  assert.equal(fine.code, 0, fine.stdout)
  const stored = filesBelow(join(dir, 'b')).filter((path) => path.startsWith('hidden-states/'))
  assert.deepEqual([filesBelow(spool.dir).length, stored], [1, []])

  await spool.remove(sample)
  assert.equal((await draftsmith(['run', other], { dir })).code, 0)
})
