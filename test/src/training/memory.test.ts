import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { problemOf, writeProblem } from '../../../supervisors/bench/train-problem.ts'
import { scratch } from '../../support/target-run.ts'

/** Twelve layers, 512 tokens and 1,024 slots: what a pass keeps of them is most of its memory. */
const size = {
  name: 'deep',
  shape: { rows: 2, tokens: 256, blocks: 32 },
  drafter: {
    ...{ layers: 12, hiddenSize: 128, intermediateSize: 480, heads: 2, kvHeads: 1 },
    ...{ vocabSize: 512, headDim: 64, blockSize: 16 },
  },
}
const steps = 3

const program = fileURLToPath(new URL('../../../supervisors/bench/train-ours.js', import.meta.url))

/** Of a process of its own, which does nothing else. */
async function trained(t: TestContext, recompute: boolean) {
  const folder = await scratch(t)
  const problem = problemOf(size, 1)
  await writeProblem(folder, { ...problem, options: { ...problem.options, recompute } })
  const stdout = await new Promise<string>((resolve, reject) => {
    const asked = execFile(process.execPath, [program, folder], (error, text) =>
      error ? reject(error) : resolve(text),
    )
    asked.stdin?.end('\n'.repeat(steps))
  })
  const lines = stdout.trim().split('\n')
  assert.equal(lines.length, steps)
  const last: { loss: number; peakBytes: number } = JSON.parse(lines[steps - 1])
  return last
}

test('training: layers that are computed again take less memory for the same loss', async (t) => {
  const kept = await trained(t, false)
  const again = await trained(t, true)
  assert.ok(Math.abs(again.loss - kept.loss) <= 1e-5 * kept.loss, `${again.loss}, ${kept.loss}`)
  const found = `${again.peakBytes / 1e6} MB, ${kept.peakBytes / 1e6} MB`
  assert.ok(again.peakBytes < 0.8 * kept.peakBytes, found)
})
