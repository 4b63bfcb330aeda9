/** That the simulator finds faults: each of these parts breaks a promise. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const main = new URL('./main.js', import.meta.url).pathname
const within = { timeout: 1_200_000, maxBuffer: 64 << 20 }

/** Some of them; `npm run simulate -- --seeds 500 --faulty all` takes each. */
const some = ['removes before commit', 'believes acknowledgements', 'sends torn files']

test('simulator: faulty parts are found', async () => {
  for (const name of some) {
    const asked = promisify(execFile)(process.execPath, [main, '--faulty', name], within)
    assert.match((await asked).stdout, new RegExp(`^${name}: seed \\d+, `))
  }
})
