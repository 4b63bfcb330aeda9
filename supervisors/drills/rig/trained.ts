/** What a training has come to: its checkpoints in the store, and the line of each step. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { isHalf, listCheckpoints, lookInto } from '../../../src/checkpoint/list.ts'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { Failure } from '../../../src/failure.ts'
import { metricsPath } from '../../../src/training/metrics-file.ts'
import type { Job } from './job.ts'

export interface Trained {
  readonly step: number
  /** sha256 of model.safetensors and of optimizer.safetensors. */
  readonly model: string
  readonly optimizer: string
  /** By step: the last line of each. */
  readonly lines: ReadonlyMap<number, StepLine>
}

const lineSchema = z.object({
  training: z.string(),
  kind: z.enum(['step', 'heldOut']),
  step: z.int(),
  loss: z.number(),
  lr: z.number().optional(),
  gradientNorm: z.number().optional(),
})
type StepLine = Omit<z.output<typeof lineSchema>, 'kind' | 'training'>

/** Of the highest complete checkpoint. */
export async function readTrained(job: Job): Promise<Trained> {
  const store = await job.openStore()
  const found = []
  for (const folder of await listCheckpoints(store)) {
    const checkpoint = await lookInto(store, folder)
    if (!isHalf(checkpoint)) found.push(checkpoint)
  }
  const newest = found.sort((a, b) => b.step - a.step)[0]
  if (!newest) throw new Failure('invalid', 'no complete checkpoint')
  const hash = async (file: 'model' | 'optimizer') => {
    const bytes = await store.get(fileKey(newest.name, file))
    return createHash('sha256')
      .update(bytes ?? '')
      .digest('hex')
  }
  return {
    step: newest.step,
    model: await hash('model'),
    optimizer: await hash('optimizer'),
    lines: linesOf(job.work),
  }
}

/** How many steps have left a line. */
export const stepsIn = ({ work }: Job): number =>
  existsSync(metricsPath(work)) ? linesOf(work).size : 0

/** Ids of all that have left a line. */
export const trainingsIn = ({ work }: Job): ReadonlySet<string> =>
  new Set(allLines(work).map(({ training }) => training))

function linesOf(work: string): Map<number, StepLine> {
  const lines = new Map<number, StepLine>()
  for (const { kind, training, ...facts } of allLines(work)) {
    if (kind === 'step') lines.set(facts.step, facts)
  }
  return lines
}

/** But for the one that is being written. */
function allLines(work: string): z.output<typeof lineSchema>[] {
  const ended = readFileSync(metricsPath(work), 'utf8').split('\n').slice(0, -1)
  return ended.map((line) => lineSchema.parse(JSON.parse(line)))
}
