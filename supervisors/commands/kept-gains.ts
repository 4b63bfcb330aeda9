import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { hasCode } from '../../src/failure.ts'

/** What the demo found of its drafter: at the same checkpoint a later start would find the same. */

const gain = {
  /** Null where nothing was decoded. */
  tau: z.number().nullable(),
  interval: z.tuple([z.number(), z.number()]).readonly().nullable(),
  prompts: z.int(),
}
/** Of the n-grams of the answers: the share that stands somewhere in the rows trained on. */
const overlaps = { overlap4: z.number(), overlap8: z.number() }

const gainsSchema = z.object({
  untrained: z.object(gain),
  heldOutRows: z.object({ ...gain, ...overlaps }),
  heldOutThemes: z.object({ ...gain, ...overlaps }),
})
const keptSchema = z.object({ checkpoint: z.string(), gains: gainsSchema })

export type DemoGains = z.output<typeof gainsSchema>
export type Gain = DemoGains['untrained']
export type Overlaps = Omit<DemoGains['heldOutRows'], keyof Gain>

/** @param checkpoint  its name, which no other has */
export async function keptGains(work: string, checkpoint: string): Promise<DemoGains | undefined> {
  const kept = keptSchema.safeParse(await jsonOf(fileIn(work)))
  return kept.data?.checkpoint === checkpoint ? kept.data.gains : undefined
}

export async function keepGains(
  work: string,
  checkpoint: string,
  gains: DemoGains,
): Promise<DemoGains> {
  await writeFile(fileIn(work), JSON.stringify({ checkpoint, gains }))
  return gains
}

const fileIn = (work: string): string => join(work, 'gains.json')

/** Undefined where there is none, or half of it: they are found again. */
async function jsonOf(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (hasCode(error, 'ENOENT') || error instanceof SyntaxError) return undefined
    throw error
  }
}
