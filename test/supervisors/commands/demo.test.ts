import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertReadable, draftsmith } from '../../support/commands/draftsmith.ts'
import { folder, listing } from '../../support/commands/golden-job.ts'

test('demo: extracts, verifies, says what to try; started again, it finds all done', async (t) => {
  const dir = folder(t)
  // Nothing is left in the user's home, and nothing is told to anyone.
  const home = folder(t)
  const env = { HOME: home, XDG_CACHE_HOME: home, TMPDIR: home }
  const first = await draftsmith(['demo', '--work', 'demo'], { dir, env })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^Of 400 rows: 400 samples committed, 0 quarantined, 0 failed/m)
  assert.match(first.stdout, /^Verified: all 400 samples of the manifest are in file:/m)
  assert.match(first.stdout, /^The hidden states are extracted\.$/m)
  assert.match(first.stdout, /^Try next:$/m)
  assertReadable(first)
  const store = join(dir, 'demo', 'store')
  const found = listing(store)
  assert.equal(Object.keys(found).filter((key) => key.startsWith('hidden-states/')).length, 400)

  const second = await draftsmith(['demo', '--work', 'demo'], { dir })
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /^All of it was there already: nothing was extracted\.$/m)
  assert.match(second.stdout, /^Since this start: 0 samples of 0 tokens/m)
  assert.deepEqual(listing(store), found)
  assert.deepEqual(listing(home), {})
})
