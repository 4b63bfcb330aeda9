/** That the simulator finds faults: each of these parts breaks a promise. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const main = new URL('./main.js', import.meta.url).pathname
const within = { timeout: 1_200_000, maxBuffer: 64 << 20 }

/** Some that the first seeds find; `npm run simulate -- --faulty all` takes each. */
const soonFound = ['removes before commit', 'believes acknowledgements', 'sends torn files']

test('simulator: faulty parts are found', async () => {
  const asked = soonFound.flatMap((name) => ['--faulty', name])
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...asked], within)
  for (const name of soonFound) assert.match(stdout, new RegExp(`^${name}: seed \\d+, `, 'm'))
})
