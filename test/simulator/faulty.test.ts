/** That the simulator finds faults: each of these parts breaks a promise, and is found. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { faultyParts } from './faulty.ts'

const main = new URL('./main.js', import.meta.url).pathname
const within = { timeout: 1_200_000, maxBuffer: 64 << 20 }

test('simulator: each faulty part is found within 500 seeds', async () => {
  const asked = promisify(execFile)(process.execPath, [main, '--faulty', 'all'], within)
  const found = (await asked).stdout.trim().split('\n')
  assert.deepEqual(
    found.map((line) => line.replace(/: seed \d+, .*/, ': found')),
    Object.keys(faultyParts).map((name) => `${name}: found`),
  )
})
