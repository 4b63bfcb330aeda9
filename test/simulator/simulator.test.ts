/** Simulations run in a process of their own: what they leave unhandled is theirs to judge. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const main = new URL('./main.js', import.meta.url).pathname
const within = { timeout: 1_200_000, maxBuffer: 64 << 20 }

/** What it said; rejects, with that, where it ends by another code. */
async function simulated(...options: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...options], within)
  return stdout
}

test('simulator: 500 seeds, and whatever they let crash, every promise holds', async () => {
  assert.match(await simulated('--seeds', '500'), /^\d{4,} crashes, 500 seeds, /m)
})

test('simulator: the same seed comes to the same event log', async () => {
  assert.match(await simulated('--seeds', '8', '--from', '500', '--twice'), /^\d+ crashes, /m)
})
