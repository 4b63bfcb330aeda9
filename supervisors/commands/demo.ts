import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { stringify } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { writeDemoDataset, writeDemoPrompts } from '../../src/demo/dataset.ts'
import { writeDemoTarget } from '../../src/demo/target.ts'
import { printResult, resultJson } from '../display/report.ts'
import { jobOf } from '../job.ts'
import { exitCodes } from '../run/machine.ts'
import { requireFolder } from '../run/preflight.ts'
import { supervised } from '../supervised.ts'
import { demoGains } from './demo-gains.ts'
import { gainsText } from './demo-text.ts'
import { verifyStore } from './verify.ts'
import { verifyText } from './verify-text.ts'

/** `demo`: a small target's text, extracted to a folder; a drafter trained on it, and its gain. */
export async function demo(options: {
  readonly work: string
  readonly json: boolean
}): Promise<number> {
  const work = resolve(options.work)
  requireFolder(work)
  const { config, warnings } = loadConfig(await layOut(work))
  const result = await supervised(config, warnings, { job: jobOf(config) })
  if (result.code !== exitCodes.done) {
    printResult(result, options)
    return result.code
  }
  const gains = await demoGains(config, join(work, promptsFile))
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ ...resultJson(result), gains })}\n`)
    return result.code
  }
  printResult(result, options)
  const found = await verifyStore(config.store, config.s3)
  const here = relative(process.cwd(), work) || '.'
  const configured = join(here, 'config.yaml')
  const nothing = result.status.ledger?.spooled.samples === 0
  const lines = [
    verifyText(found),
    ...(nothing ? ['All of it was there already: nothing was extracted.'] : []),
    '',
    ...gainsText(gains),
    '',
    `All lies in ${join(here, 'store')}; the configuration that made it is ${configured}.`,
    'Try next:',
    `  ${command()} check ${configured}`,
    `  ${command()} verify ${config.store}`,
    `  ${command()} export ${config.store} ${join(here, 'drafter')}`,
    `  rm -r ${join(here, 'store')}, start again and press Ctrl-C: it goes on where it was`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return found.differ.length === 0 ? exitCodes.done : exitCodes.incomplete
}

/** Some two minutes on two cores. */
const training = {
  ...{ layers: 2, blockSize: 8, anchors: 32, gamma: 4 },
  ...{ epochs: 12, lr: 4e-3, warmup: 0.02, tokensPerStep: 1024, tokensPerBatch: 1024 },
  ...{ heldOut: 0.1, heldOutEvery: 100 },
}

/** Questions of themes that no row is of. */
const promptsFile = 'prompts.jsonl'

/** Target, dataset and configuration, where they are not there yet. */
async function layOut(work: string): Promise<string> {
  const target = join(work, 'target')
  const dataset = join(work, 'dataset')
  const path = join(work, 'config.yaml')
  if (!existsSync(join(target, 'config.json'))) await writeDemoTarget(target)
  if (!existsSync(join(dataset, 'state.json'))) await writeDemoDataset(dataset)
  if (!existsSync(join(work, promptsFile))) writeDemoPrompts(join(work, promptsFile))
  if (!existsSync(path)) await writeFile(path, stringify(demoConfig(work)))
  return path
}

/** As it is laid out; one that is there already is left as it is. */
export const demoConfig = (work: string) => ({
  store: pathToFileURL(join(work, 'store')).href,
  work: '.',
  dataset: { path: './dataset' },
  target: { path: './target' },
  extract: { devices: ['cpu', 'cpu'], tokenBudget: 2048 },
  spool: { keepFree: '100MB', maxBytes: '100MB' },
  train: training,
})

/** How this program was called: from a checkout, or as an installed package. */
function command(): string {
  const main = process.argv[1]
  return main.includes('node_modules') ? 'npx draftsmith' : `node ${relative(process.cwd(), main)}`
}
