import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { sleep } from '../../../src/clock.ts'
import { isAlive } from '../../../src/manifest/holder.ts'

/** A process that ends at once, below one that never asks how: its number stays taken. */
async function unreaped(t: TestContext): Promise<number> {
  const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => parent.kill('SIGKILL'))
  for await (const line of createInterface({ input: parent.stdout })) return Number(line)
  throw new Error('the shell said nothing')
}

test('holder: a process that has ended and was not asked how is not alive', async (t) => {
  if (process.platform !== 'linux') return t.skip('needs Linux: not found')
  const pid = await unreaped(t)
  const deadline = Date.now() + 20_000
  while (isAlive(pid) && Date.now() < deadline) await sleep(10)
  process.kill(pid, 0)
  assert.equal(isAlive(pid), false)
})
