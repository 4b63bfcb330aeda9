import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { stringify } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { writeDemoDataset } from '../../src/demo/dataset.ts'
import { writeDemoTarget } from '../../src/demo/target.ts'
import { printResult } from '../display/report.ts'
import { exitCodes } from '../run/machine.ts'
import { requireFolder } from '../run/preflight.ts'
import { supervised } from '../supervised.ts'
import { verifyStore } from './verify.ts'
import { verifyText } from './verify-text.ts'

/** `demo`: a target and a dataset made here, extracted to a folder. */
export async function demo(options: {
  readonly work: string
  readonly json: boolean
}): Promise<number> {
  const work = resolve(options.work)
  requireFolder(work)
  const { config, warnings } = loadConfig(await layOut(work))
  const result = await supervised(config, warnings)
  printResult(result, options)
  if (options.json || result.code !== exitCodes.done) return result.code
  const found = await verifyStore(config.store, config.s3)
  const here = relative(process.cwd(), work) || '.'
  const configured = join(here, 'config.yaml')
  const nothing = result.status.ledger?.spooled.samples === 0
  const lines = [
    verifyText(found),
    '',
    nothing
      ? 'All of it was there already: nothing was extracted.'
      : 'The hidden states are extracted.',
    `They lie in ${join(here, 'store')}; the configuration that made them is ${configured}.`,
    'Try next:',
    `  ${command()} check ${configured}`,
    `  ${command()} verify ${config.store}`,
    `  rm -r ${join(here, 'store')}, start again and press Ctrl-C: it goes on where it was`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return found.differ.length === 0 ? exitCodes.done : exitCodes.incomplete
}

/** Target, dataset and configuration, where they are not there yet. */
async function layOut(work: string): Promise<string> {
  const target = join(work, 'target')
  const dataset = join(work, 'dataset')
  const path = join(work, 'config.yaml')
  if (!existsSync(join(target, 'config.json'))) await writeDemoTarget(target)
  if (!existsSync(join(dataset, 'state.json'))) await writeDemoDataset(dataset)
  if (!existsSync(path)) {
    const config = {
      store: pathToFileURL(join(work, 'store')).href,
      work: '.',
      dataset: { path: './dataset' },
      target: { path: './target' },
      extract: { devices: ['cpu', 'cpu'], tokenBudget: 1024 },
      spool: { keepFree: '100MB', maxBytes: '100MB' },
    }
    await writeFile(path, stringify(config))
  }
  return path
}

/** How this program was called: from a checkout, or as an installed package. */
function command(): string {
  const main = process.argv[1]
  return main.includes('node_modules') ? 'npx draftsmith' : `node ${relative(process.cwd(), main)}`
}
