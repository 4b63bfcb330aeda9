import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { randomRows } from '../../src/dataset/random-rows.ts'
import { writeDataset } from '../../src/dataset/write.ts'
import { inFreshProcess } from './fresh.ts'
import type { BenchReport } from './report.ts'

/** How soon the reader has its first batch of a big dataset, in how much memory. */

/** Lengths as in a large set of conversations; ids as in a large vocabulary. */
const shape = { meanTokens: 284, sigma: 0.9, tokensMin: 8, tokensMax: 4096, vocab: 248_320 }

export interface StartupSizes {
  readonly rows: number
  readonly repeats: number
}

const once = z.strictObject({
  rows: z.number(),
  tokens: z.number(),
  batches: z.number(),
  firstBatchRows: z.number().positive(),
  processSeconds: z.number(),
  codeSeconds: z.number(),
  peakBytes: z.number(),
  rowMicroseconds: z.number(),
})
type Once = z.output<typeof once>

export async function benchStartup(
  folder: string,
  { rows, repeats }: StartupSizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  const dataset = join(folder, `rows-${rows}`)
  await makeDataset(dataset, rows, note)
  const found: Once[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    note(`repeat ${repeat + 1} of ${repeats}`)
    const work = join(folder, 'reader')
    const answer = await inFreshProcess({
      script: new URL('./startup-once.js', import.meta.url),
      args: [dataset, work, String(shape.vocab)],
    })
    found.push(once.parse(answer))
    await rm(work, { recursive: true, force: true })
  }
  const { tokens, batches } = found[0]
  const each = (of: (one: Once) => number) => found.map(of)
  return {
    bench: 'startup',
    sizes: { rows, tokens, batches, repeats },
    method: [
      'Each repeat is a new process that opens the dataset, plans all its batches and reads the',
      'rows of the first, as the reader does on a machine that knows nothing of it. The files are',
      "in the page cache. Memory is the process's own peak, Node's included.",
    ],
    figures: [
      {
        name: 'first batch, from the start of the process',
        unit: 's',
        values: each((one) => one.processSeconds),
        target: { below: 1 },
      },
      {
        name: 'first batch, from the first line of code',
        unit: 's',
        values: each((one) => one.codeSeconds),
      },
      {
        name: 'peak resident memory',
        unit: 'MB',
        values: each((one) => one.peakBytes / 1e6),
        target: { below: 300 },
      },
      {
        name: 'a random row, its record batch open',
        unit: 'µs',
        values: each((one) => one.rowMicroseconds),
        target: { below: 50 },
      },
    ],
  }
}

/** `state.json` is written last: where it is, the dataset is whole. */
async function makeDataset(dir: string, rows: number, note: (text: string) => void): Promise<void> {
  if (existsSync(join(dir, 'state.json'))) return
  note(`making a dataset of ${rows} rows`)
  await writeDataset(dir, {
    rows: randomRows({ ...shape, rows, seed: 0 }),
    count: rows,
    shards: 4,
  })
}
