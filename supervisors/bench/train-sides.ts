import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type AskedProcess, startAsked } from './asked-process.ts'

/** Who is measured by `bench train`, step by step and by turns. */

export const ours = 'draftsmith' as const
export const eager = 'PyTorch, eager' as const
/** Where its compiler is there, and its gradients are those of the others. */
export const compiled = 'PyTorch, compiled' as const
export type SideName = typeof ours | typeof eager | typeof compiled

const stepAnswer = z.strictObject({
  loss: z.number(),
  gradientNorm: z.number(),
  ms: z.number(),
  /** Of the processors, over all threads. */
  cpuMs: z.number(),
  /** Inside onnxruntime; of ours alone. */
  insideMs: z.number().optional(),
  peakBytes: z.number(),
})
export type Step = z.infer<typeof stepAnswer>

/** After the first: sides allocate, and settle. */
const unmeasured = 2

export interface Measuring {
  /** Of the problem. */
  readonly folder: string
  readonly names: readonly SideName[]
  readonly repeats: number
}

/** @throws Error: sides that do not take the same step */
export async function measureSteps(
  { folder, names, repeats }: Measuring,
  note: (text: string) => void,
): Promise<ReadonlyMap<SideName, readonly Step[]>> {
  const sides = new Map<SideName, AskedProcess>()
  try {
    const first = new Map<SideName, Step>()
    for (const name of names) {
      note(`${name}, first step`)
      const side = startAsked(commandOf(name, folder))
      sides.set(name, side)
      try {
        first.set(name, stepAnswer.parse(await side.ask('step')))
        requireSame(first, 1e-4)
      } catch (cause) {
        if (name !== compiled) throw cause
        note(`${name} is left out: ${cause instanceof Error ? cause.message : cause}`)
        first.delete(name)
        sides.delete(name)
        await side.close()
      }
    }
    return await byTurns(sides, repeats, note)
  } finally {
    await Promise.all([...sides.values()].map((side) => side.close()))
  }
}

async function byTurns(
  sides: ReadonlyMap<SideName, AskedProcess>,
  repeats: number,
  note: (text: string) => void,
): Promise<ReadonlyMap<SideName, readonly Step[]>> {
  const found = new Map([...sides.keys()].map((name) => [name, [] as Step[]]))
  const all = [...sides]
  for (let turn = 0; turn < unmeasured + repeats; turn++) {
    note(`step ${turn + 1} of ${unmeasured + repeats}`)
    const steps = new Map<SideName, Step>()
    // The order turns, so that a machine that grows slower or faster favours nobody.
    const order = all.map((_, i) => all[(i + turn) % all.length])
    for (const [name, side] of order) steps.set(name, stepAnswer.parse(await side.ask('step')))
    requireSame(steps, 1e-2)
    if (turn < unmeasured) continue
    for (const [name, step] of steps) found.get(name)?.push(step)
  }
  return found
}

/** Rounding apart; what it does grows with each step that follows another. */
function requireSame(steps: ReadonlyMap<SideName, Step>, tolerance: number): void {
  for (const key of ['loss', 'gradientNorm'] as const) {
    const values = [...steps.values()].map((step) => step[key])
    if (values.every((value) => Math.abs(value / values[0] - 1) < tolerance)) continue
    const facts = [...steps.keys()].map((name, i) => `${name}=${values[i]}`).join(', ')
    throw new Error(`sides differ in the same step. of=${key}, ${facts}`)
  }
}

function commandOf(name: SideName, folder: string) {
  if (name === ours) {
    const script = fileURLToPath(new URL('./train-ours.js', import.meta.url))
    return { command: process.execPath, args: [script, folder] }
  }
  const script = fileURLToPath(new URL('../../../scripts/bench/train_torch.py', import.meta.url))
  return { command: 'python3', args: [script, folder, name === eager ? 'eager' : 'compiled'] }
}
