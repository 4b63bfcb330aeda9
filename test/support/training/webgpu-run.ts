/**
 * Steps on webgpu beside those on cpu, in a process of its own: a driver is found by what is in the
 * environment when a process starts. Prints what came of it, as JSON.
 */
import { countingBatch, tinyLearner } from './tiny-learner.ts'

const regions = ['parameters', 'firstMoments', 'secondMoments'] as const
const options = { optimizer: { weightDecay: 0.1, decayExclude: ['norm.weight'] } }
const [gpu, cpu] = [tinyLearner({ device: 'webgpu' }, options), tinyLearner({}, options)]

/** One batch, three of one shape, one that is not finite, one. */
const bad = { ...countingBatch(9, [2, 7]), hidden: new Uint16Array(2 * 16 * 64).fill(0x7fc0) }
const steps = [
  [countingBatch(0, [1, 7])],
  [countingBatch(1, [4, 7]), countingBatch(2, [11, 9]), countingBatch(3, [5, 30])],
  [bad],
  [countingBatch(4, [20, 7])],
]
const states: string[] = []
const gaps: number[] = []
for (const batches of steps) {
  const [found, wanted] = [await gpu.step(batches, 1e-3), await cpu.step(batches, 1e-3)]
  states.push(found?.state ?? 'nothing')
  if (found?.state !== 'applied' || wanted?.state !== 'applied') continue
  gaps.push(Math.abs(found.loss / wanted.loss - 1))
  gaps.push(Math.abs(found.gradientNorm / wanted.gradientNorm - 1))
}
const judged = [await gpu.judge(steps[1]), await cpu.judge(steps[1])]
gaps.push(Math.abs((judged[0]?.loss ?? Number.NaN) / (judged[1]?.loss ?? 0) - 1))
await gpu.read()
const tensorGaps = cpu.tensors.places.flatMap(({ name, view }) =>
  regions.map((region) => {
    const [want, found] = [view(region), gpu.tensors.view(region, name)]
    return Math.hypot(...want.map((value, i) => value - found[i])) / Math.hypot(...want)
  }),
)
const { spent, updates } = gpu
await gpu.release()
await cpu.release()
const worst = (all: readonly number[]) => Math.max(...all)
process.stdout.write(
  JSON.stringify({ states, updates, gap: worst(gaps), tensorGap: worst(tensorGaps), spent }),
)
