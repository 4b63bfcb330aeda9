import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { frozenNames } from '../../src/models/frozen.ts'
import { openSafetensors, readTensor } from '../../src/safetensors/read.ts'
import { elements } from '../../src/tensor/tensor.ts'
import { Learner } from '../../src/training/learner.ts'

import { batchOf, type Problem } from './train-problem.ts'

/**
 * Draftsmith's side of `bench train`, in a process of its own. The argument is the problem's
 * folder. Each line on stdin asks for one step, which is answered by a line on stdout.
 */

const [folder] = process.argv.slice(2)
const problem: Problem = JSON.parse(readFileSync(join(folder, 'problem.json'), 'utf8'))
const file = await openSafetensors(join(folder, 'problem.safetensors'))
const floats = async (name: string) => elements(await readTensor(file, name), 'F32')

const { embedding } = frozenNames(true)
const learner = new Learner({
  drafter: problem.config,
  tiedEmbeddings: true,
  frozen: new Map([[embedding, await floats(embedding)]]),
  options: problem.options,
  device: 'cpu',
  threads: problem.threads,
})
for (const { name, view } of learner.tensors.places) view('parameters').set(await floats(name))
const batch = batchOf(problem, {
  tokenIds: elements(await readTensor(file, 'token_ids'), 'I64'),
  hidden: await floats('hidden'),
})

for await (const _ of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await step())}\n`)
}
await learner.release()

async function step() {
  const insideBefore = learner.spent.insideMs
  const cpuBefore = process.cpuUsage()
  const before = performance.now()
  const learnt = await learner.step([batch], problem.lr)
  if (!learnt) throw new Error('the bench has nothing to learn from')
  const ms = performance.now() - before
  const { user, system } = process.cpuUsage(cpuBefore)
  if (learnt.state === 'skipped') throw new Error(`not finite: ${learnt.tensors.join(', ')}`)
  return {
    loss: learnt.loss,
    gradientNorm: learnt.gradientNorm,
    ms,
    cpuMs: (user + system) / 1000,
    insideMs: learner.spent.insideMs - insideBefore,
    // On every system in kibibytes, says libuv.
    peakBytes: process.resourceUsage().maxRSS * 1024,
  }
}
