import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { stringify } from 'yaml'
import { z } from 'zod'
import { randomRows } from '../../src/dataset/random-rows.ts'
import { writeDataset } from '../../src/dataset/write.ts'
import { writeRandomTarget } from '../../src/models/random-target.ts'
import { inFreshProcess } from './fresh.ts'
import type { BenchReport } from './report.ts'

/**
 * What the pipeline costs beside its model: its tokens a second, and those of onnxruntime alone.
 */

export interface ExtractSizes {
  readonly rows: number
  readonly repeats: number
  readonly target: TargetSize
}

type TargetSize = Omit<Parameters<typeof writeRandomTarget>[1], 'dtype' | 'seed'>

/**
 * 54 million parameters, 109 MB, in the proportions of a small real one (Qwen3 0.6B: 28 layers of
 * 1,024, 3,072 within): five of its sixteen layers are captured. The fewer layers lie between
 * captures, the more bytes there are to write for the same arithmetic.
 */
export const hundredMegabytes: TargetSize = {
  layers: 16,
  hiddenSize: 512,
  intermediateSize: 1536,
  vocabSize: 8192,
  heads: 8,
  kvHeads: 4,
  headDim: 64,
}

const tokenBudget = 4096

/** What either side says that it has done. */
interface Side {
  readonly seconds: number
  /** Of the processors, over all threads. */
  readonly cpuSeconds: number
  readonly samples: number
  readonly tokens: number
}

export async function benchExtract(
  folder: string,
  { rows, repeats, target }: ExtractSizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  const inputs = { target: join(folder, 'target'), dataset: join(folder, `samples-${rows}`) }
  await makeInputs(inputs, { rows, repeats, target }, note)
  const bare: Side[] = []
  const pipeline: Side[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    // The order alternates, so that a machine that grows slower or faster favours neither.
    const sides = [() => runBare(folder, inputs), () => runPipeline(folder, inputs)]
    const order = repeat % 2 === 0 ? [0, 1] : [1, 0]
    const found: Side[] = []
    for (const side of order) {
      note(`repeat ${repeat + 1} of ${repeats}: ${side === 0 ? 'onnxruntime alone' : 'pipeline'}`)
      found[side] = await sides[side]()
    }
    requireSameWork(found[0], found[1])
    bare.push(found[0])
    pipeline.push(found[1])
  }
  await rm(join(folder, 'run'), { recursive: true, force: true })
  const { samples, tokens } = bare[0]
  const speed = (side: Side) => side.tokens / side.seconds
  return {
    bench: 'extract',
    sizes: { samples, tokens, repeats },
    method: [
      'Both sides compute the same batches with the same graph, session and threads, each side in',
      'a new process, by turns. Pipeline: `draftsmith run` to a file:// store, from the claim of',
      'the first batch until the last sample is committed and has left the spool. Onnxruntime',
      "alone: the session's run() over all batches, its results dropped. Neither counts the start",
      'of the process or the loading of the model. The quotient is taken of the two sides of each',
      'repeat.',
    ],
    figures: [
      { name: 'onnxruntime alone', unit: 'tokens/s', values: bare.map(speed) },
      { name: 'pipeline', unit: 'tokens/s', values: pipeline.map(speed) },
      {
        name: 'pipeline ÷ onnxruntime alone',
        unit: '×',
        values: pipeline.map((side, i) => speed(side) / speed(bare[i])),
        target: { atLeast: 0.9 },
      },
      {
        name: 'processor time a token, likewise',
        unit: '×',
        values: pipeline.map((side, i) => side.cpuSeconds / bare[i].cpuSeconds),
      },
    ],
  }
}

interface Inputs {
  readonly target: string
  readonly dataset: string
}

async function makeInputs(
  inputs: Inputs,
  { rows, target }: ExtractSizes,
  note: (text: string) => void,
): Promise<void> {
  if (!existsSync(join(inputs.target, 'config.json'))) {
    note('making a target of random weights')
    await writeRandomTarget(inputs.target, { ...target, dtype: 'BF16', seed: 0 })
  }
  if (existsSync(join(inputs.dataset, 'state.json'))) return
  const lengths = { meanTokens: 284, sigma: 0.9, tokensMin: 8, tokensMax: 2048 }
  await writeDataset(inputs.dataset, {
    rows: randomRows({ ...lengths, rows, vocab: target.vocabSize, seed: 0 }),
    count: rows,
    shards: 1,
  })
}

/** A run that nothing is known of. @returns  its configuration's path */
async function newRun(folder: string, inputs: Inputs): Promise<string> {
  const run = join(folder, 'run')
  await rm(run, { recursive: true, force: true })
  await mkdir(run, { recursive: true })
  const config = {
    store: pathToFileURL(join(run, 'store')).href,
    work: join(run, 'work'),
    dataset: { path: inputs.dataset },
    target: { path: inputs.target },
    extract: { devices: ['cpu'], tokenBudget },
    spool: { keepFree: '100MB', maxBytes: '10GB' },
  }
  const path = join(run, 'config.yaml')
  await writeFile(path, stringify(config))
  return path
}

const bareAnswer = z.strictObject({
  seconds: z.number(),
  cpuSeconds: z.number(),
  samples: z.number(),
  tokens: z.number(),
})

async function runBare(folder: string, inputs: Inputs): Promise<Side> {
  const config = await newRun(folder, inputs)
  const script = new URL('./extract-bare.js', import.meta.url)
  return bareAnswer.parse(await inFreshProcess({ script, args: [config] }))
}

const runAnswer = z.object({
  code: z.literal(0),
  extracted: z.object({ samples: z.number(), tokens: z.number() }),
})

async function runPipeline(folder: string, inputs: Inputs): Promise<Side> {
  const config = await newRun(folder, inputs)
  const moments = join(folder, 'run', 'moments')
  const answer = await inFreshProcess({
    script: new URL('../main.js', import.meta.url),
    args: ['run', config, '--json'],
    preload: new URL('./extract-moments.js', import.meta.url),
    env: { DRAFTSMITH_BENCH_MOMENTS: moments },
  })
  const { samples, tokens } = runAnswer.parse(answer).extracted
  return { samples, tokens, ...spentBetween(await readFile(moments, 'utf8')) }
}

/** From the first moment to the last, of lines that name a moment and both its clocks' times. */
function spentBetween(moments: string): Pick<Side, 'seconds' | 'cpuSeconds'> {
  const lines = moments.trimEnd().split('\n')
  const times = lines.map((line) => line.split(' ').slice(1).map(Number))
  const elapsed = (clock: number) => {
    const read = times.map((time) => time[clock])
    return read.reduce((a, b) => Math.max(a, b)) - read.reduce((a, b) => Math.min(a, b))
  }
  return { seconds: elapsed(0) / 1e9, cpuSeconds: elapsed(1) / 1e6 }
}

function requireSameWork(bare: Side, pipeline: Side): void {
  if (bare.samples === pipeline.samples && bare.tokens === pipeline.tokens) return
  const facts = [bare, pipeline].map(({ samples, tokens }) => `${samples} of ${tokens} tokens`)
  throw new Error(`the two sides did not do the same. bare=${facts[0]}, pipeline=${facts[1]}`)
}
