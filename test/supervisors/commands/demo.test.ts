import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { demoConfig } from '../../../supervisors/commands/demo.ts'
import { assertReadable, draftsmith } from '../../support/commands/draftsmith.ts'
import { folder, listing } from '../../support/commands/golden-job.ts'

test('demo: extracts, trains, tells the gain; started again, it finds all done', async (t) => {
  const dir = folder(t)
  // Nothing is left in the user's home, and nothing is told to anyone.
  const home = folder(t)
  const env = { HOME: home, XDG_CACHE_HOME: home, TMPDIR: home }
  // A part of its training shows that it works; the whole takes minutes.
  const { train, ...config } = demoConfig(join(dir, 'demo'))
  mkdirSync(join(dir, 'demo'))
  const short = { ...config, train: { ...train, epochs: 4 } }
  writeFileSync(join(dir, 'demo', 'config.yaml'), stringify(short))
  const first = await draftsmith(['demo', '--work', 'demo'], { dir, env, endMs: 1_200_000 })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^Of 400 rows: 400 samples committed, 0 quarantined, 0 failed/m)
  assert.match(first.stdout, /^Verified: all 400 samples of the manifest are in file:/m)
  assert.match(first.stdout, /^Trained: step (\d+) of \1, .* seen in 4 epochs\.$/m)
  assert.match(first.stdout, /^ {2}no drafter {18}1\.00$/m)
  assert.match(first.stdout, /^ {2}the drafter, untrained {6}1\.\d\d /m)
  const [, tau] = /^ {2}trained, on held-out rows {3}(\d\.\d\d) /m.exec(first.stdout) ?? []
  assert.ok(Number(tau) >= 2, `τ on held-out rows: ${tau}`)
  assert.match(first.stdout, /^ {2}trained, on other themes {4}\d\.\d\d /m)
  assert.match(first.stdout, /^Try next:$/m)
  assertReadable(first)
  const store = join(dir, 'demo', 'store')
  const found = listing(store)
  assert.equal(Object.keys(found).filter((key) => key.startsWith('hidden-states/')).length, 400)

  const second = await draftsmith(['demo', '--work', 'demo'], { dir, endMs: 300_000 })
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /^All of it was there already: nothing was extracted\.$/m)
  assert.match(second.stdout, /^Since this start: 0 samples of 0 tokens/m)
  assert.ok(second.stdout.includes(`trained, on held-out rows   ${tau}`), second.stdout)
  assert.deepEqual(differing(found, listing(store)), [])
  assert.deepEqual(listing(home), {})
})

type Listing = ReturnType<typeof listing>

/** Names of the files that are not in both, or not the same. */
function differing(a: Listing, b: Listing): string[] {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].filter((key) => a[key] !== b[key])
}
