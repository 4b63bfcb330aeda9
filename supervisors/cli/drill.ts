import type { Command } from 'commander'
import { whole } from './values.ts'

/** `drill`, as `main.ts` lists it. */
export function addDrill(program: Command, finished: (code: number) => void): void {
  program
    .command('drill [name...]')
    .description('break the program on purpose, in a folder of its own, and tell what held')
    .option('--all', 'every drill: about 20 minutes')
    .option('--list', 'name them, a line each, and how long each takes alone')
    .option('--seed <n>', 'of what is drawn by chance; what a failure printed repeats it', whole)
    .option('--config <file>', "a run's own, in place of the demo: its target, dataset and store")
    .option('--samples <n>', 'rows that a drill takes (120 of the demo, 64 of your own)', whole)
    .option('--work <dir>', 'where its folders lie, which go again; else a temporary folder')
    .option('--json', 'print one JSON document on stdout')
    .action(async (names: string[], options: DrillArguments) => {
      const { drill } = await import('../commands/drill.ts')
      const { all = false, list = false, json = false } = options
      const { seed = 1 + Math.floor(Math.random() * seedMax) } = options
      finished(await drill(names, { ...options, all, list, json, seed }))
    })
}

/** As many digits as are taken. */
const seedMax = 999_999_999

interface DrillArguments {
  readonly all?: true
  readonly list?: true
  readonly seed?: number
  readonly config?: string
  readonly samples?: number
  readonly work?: string
  readonly json?: true
}
