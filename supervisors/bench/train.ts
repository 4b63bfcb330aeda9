import { runCommand } from './fresh.ts'
import type { BenchReport, Figure } from './report.ts'
import { problemOf, type TrainSize, writeProblem } from './train-problem.ts'
import { compiled, eager, measureSteps, ours, type SideName, type Step } from './train-sides.ts'

/** What a training step costs, beside the same step of PyTorch on the same processor. */

export interface TrainSizes {
  readonly sizes: readonly TrainSize[]
  readonly threads: number
  /** Steps that are measured, after some that are not. */
  readonly repeats: number
  /** Whether PyTorch is measured compiled, too: that takes minutes before the first step. */
  readonly compiled: boolean
}

export async function benchTrain(
  folder: string,
  { sizes, threads, repeats, ...wanted }: TrainSizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  const torch = { command: 'python3', args: ['-c', 'import torch'] }
  const hasTorch = await runCommand(torch).then(
    () => true,
    () => false,
  )
  const names: SideName[] = [
    ours,
    ...(hasTorch ? [eager] : []),
    ...(hasTorch && wanted.compiled ? [compiled] : []),
  ]
  const figures: Figure[] = []
  const counts: Record<string, number> = {}
  for (const size of sizes) {
    note(`making the problem of ${size.name}`)
    counts[`parameters of ${size.name}`] = await writeProblem(folder, problemOf(size, threads))
    const found = await measureSteps({ folder, names, repeats }, (text) =>
      note(`${size.name}: ${text}`),
    )
    figures.push(...figuresOf(size.name, found))
  }
  return {
    bench: 'train',
    sizes: { ...counts, threads, repeats },
    method: [
      'A step is forward and backward pass, clipping and AdamW, on one batch that stays; each side',
      'is a process that lives through all steps, and they step by turns. PyTorch: float32, the',
      'same split attention, fused AdamW. All compute the same losses and norms, which is checked.',
      'Memory is the peak of each process, its own runtime included. Quotients are taken of two',
      'steps of one turn. Outside onnxruntime: the optimizer, and what lies around run().',
      ...(hasTorch ? [] : ['Not installed: python3 with torch.']),
    ],
    figures,
  }
}

type Found = ReadonlyMap<SideName, readonly Step[]>

function figuresOf(size: string, found: Found): Figure[] {
  const own = found.get(ours) ?? []
  const peers = [...found].filter(([name]) => name !== ours)
  const outside = own.map(({ ms, insideMs }) => 100 * (1 - (insideMs ?? 0) / ms))
  return [
    ...[...found].flatMap(([name, steps]) => sideFigures(`${size}, ${name}`, steps)),
    { name: `${size}, ${ours}: outside onnxruntime`, unit: '%', values: outside },
    ...peers.flatMap(([name, steps]) =>
      quotients(`${size}, ${ours} ÷ ${name}`, { own, steps, claimed: name === eager }),
    ),
  ]
}

const sideFigures = (name: string, steps: readonly Step[]): Figure[] => [
  { name: `${name}: step`, unit: 'ms', values: steps.map(({ ms }) => ms) },
  { name: `${name}: processor time`, unit: 'ms', values: steps.map(({ cpuMs }) => cpuMs) },
  { name: `${name}: peak memory`, unit: 'MB', values: steps.map((step) => step.peakBytes / 1e6) },
]

interface Compared {
  readonly own: readonly Step[]
  readonly steps: readonly Step[]
  readonly claimed: boolean
}

function quotients(name: string, { own, steps, claimed }: Compared): Figure[] {
  const each = (of: (step: Step) => number) => own.map((step, i) => of(step) / of(steps[i]))
  return [
    {
      name: `${name}: step`,
      unit: '×',
      values: each(({ ms }) => ms),
      ...(claimed && { target: { below: 1.1 } }),
    },
    { name: `${name}: processor time`, unit: '×', values: each(({ cpuMs }) => cpuMs) },
    {
      name: `${name}: peak memory`,
      unit: '×',
      values: each(({ peakBytes }) => peakBytes),
      ...(claimed && { target: { below: 1 } }),
    },
  ]
}
