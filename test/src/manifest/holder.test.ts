import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { sleep } from '../../../src/clock.ts'
import { isAlive, thisHolder } from '../../../src/manifest/holder.ts'

/** A process that has been ended, below one that never asks how: its number stays taken. */
async function unreaped(t: TestContext): Promise<number> {
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => parent.kill('SIGKILL'))
  for await (const line of createInterface({ input: parent.stdout })) {
    // A shell may ask how its children ended; what it becomes never does.
    await until(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n')
    process.kill(Number(line), 'SIGKILL')
    return Number(line)
  }
  throw new Error('the shell said nothing')
}

async function until(is: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!is() && Date.now() < deadline) await sleep(10)
}

test('holder: a process that has ended and was not asked how is not alive', async (t) => {
  if (process.platform !== 'linux') return t.skip('needs Linux: not found')
  const pid = await unreaped(t)
  await until(() => !isAlive({ pid }))
  process.kill(pid, 0)
  assert.equal(isAlive({ pid }), false)
})

test('holder: another process that was given the number is not the one that held it', (t) => {
  if (process.platform !== 'linux') return t.skip('needs Linux: not found')
  const { pid, startTicks } = thisHolder('w')
  assert.ok(startTicks !== undefined && startTicks > 0)
  assert.equal(isAlive({ pid, startTicks }), true)
  assert.equal(isAlive({ pid, startTicks: startTicks - 1 }), false)
})
