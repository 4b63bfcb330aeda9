import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { z } from 'zod'
import { needsSwiftShader } from '../../support/needs.ts'
import { withoutVulkan, withSwiftShader } from '../../support/swiftshader.ts'

const run = promisify(execFile)
const script = new URL('../../support/training/webgpu-run.js', import.meta.url).pathname

const foundSchema = z.object({
  states: z.array(z.string()),
  updates: z.int(),
  gap: z.number(),
  tensorGap: z.number(),
  spent: z.object({ insideMs: z.number(), transferMs: z.number() }),
})

test('webgpu: steps as on cpu, what is trained stays on the device', async (t) => {
  const driver = needsSwiftShader(t)
  if (driver === undefined) return
  const { stdout } = await run(process.execPath, [script], {
    env: withSwiftShader(driver),
    timeout: 600_000,
  })
  const { gap, spent, states, tensorGap, updates } = foundSchema.parse(JSON.parse(stdout))
  assert.deepEqual(states, ['applied', 'applied', 'skipped', 'applied'])
  assert.equal(updates, 3)
  assert.ok(gap < 1e-4, `loss or norm off by ${gap}`)
  assert.ok(tensorGap < 1e-3, `a tensor off by ${tensorGap} of its norm`)
  assert.ok(spent.transferMs > 0 && spent.transferMs < spent.insideMs)
})

test('webgpu: a machine without a driver is told so', async () => {
  await assert.rejects(
    run(process.execPath, [script], { env: withoutVulkan(), timeout: 600_000 }),
    /device cannot be used. device=webgpu/,
  )
})
