/** That the simulator finds faults: each of these parts breaks a promise. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const main = new URL('./main.js', import.meta.url).pathname
const within = { timeout: 1_200_000, maxBuffer: 64 << 20 }

/**
 * Each part, the first seed that found it when it was last looked for from 0 on (`npm run simulate
 * -- --faulty all`), and what it breaks. From that seed on it is looked for here: where the product
 * has changed since, another finds it.
 */
const parts: readonly (readonly [part: string, seed: number, breaks: RegExp])[] = [
  ['removes before commit', 0, /a spooled file was removed before its commit/],
  ['believes acknowledgements', 4, /committed, and something else in the store/],
  ['sends torn files', 4, /committed, and something else in the store/],
  ['uses a segment name again', 6, /committed, and no file names it any more/],
  ['counts a death twice', 0, /given up after \d deaths, may have \d/],
  ['leaks permits at a death', 3, /the run stands still/],
  ['takes a lost answer for a failure', 2, /a run ends without a cause: .* taken\. key=/],
  ['leases again what is done', 1, /was lent what was committed/],
  ['counts one restart too many', 4, /given up after \d deaths, may have \d/],
  ['forgets the spool', 4, /nothing is left behind: not so of an unfinished file/],
  ['syncs no file', 66, /the spool holds samples of another run/],
  ['syncs no folder', 80, /a sample of no row/],
  ['sees life everywhere', 1, /hangs, and nobody ends it/],
  ['measures by the wall clock', 114, /the run stands still/],
  ['heeds no lock', 10, /took the run from process \d+, which lives/],
  ['removes before its snapshot', 2, /committed, and no file names it any more/],
]

test('simulator: each faulty part is found, by the promise that it breaks', async () => {
  const asked = parts.flatMap(([part, seed]) => ['--faulty', `${part}@${seed}`])
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...asked], within)
  const found = stdout.trim().split('\n')
  assert.equal(found.length, parts.length)
  for (const [i, [part, , breaks]] of parts.entries()) {
    assert.match(found[i] ?? '', new RegExp(`^${part}: seed \\d+, `))
    assert.match(found[i] ?? '', breaks)
  }
})
