import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseBytes } from '../src/config/sizes.ts'
import { parallelDefault } from './keeping/verify-depth.ts'

/** `export`, as `main.ts` lists it. */

type Finished = (code: number) => void

interface ExportArguments {
  readonly format: 'speculators'
  readonly target?: string
  readonly lastAsIs?: true
  readonly overwrite?: true
  readonly keepFree: number
  readonly parallel: number
  readonly work: string
  readonly endpoint?: string
  readonly region?: string
  readonly json?: true
}

export function addExport(program: Command, finished: Finished): void {
  const formats = ['speculators']
  program
    .command('export <store> <dir>')
    .description('a drafter as z-lab publishes it; or samples for the loader of speculators')
    .addOption(
      new Option('--format <name>', 'what to write').choices(formats).makeOptionMandatory(),
    )
    .option('--target <dir>', 'of the samples, where it is not where it was')
    .option('--last-as-is', 'lay out the last state that was kept, though not of the last layer')
    .option('--overwrite', 'replace what bears the same names; all else in the folder stays')
    .option('--keep-free <size>', 'that the disk keeps', size, parseBytes('20GB'))
    .option('--parallel <n>', 'requests open at once', whole, parallelDefault)
    .option('--work <dir>', 'where the dataset is kept meanwhile', './work')
    .option('--endpoint <url>', 'of an S3-compatible store; else AWS_ENDPOINT_URL')
    .option('--region <name>', 'of the bucket; else AWS_REGION')
    .option('--json', 'print one JSON document on stdout')
    .action(async (store: string, dir: string, options: ExportArguments) => {
      const { json = false, overwrite = false, lastAsIs = false } = options
      const { exportForSpeculators } = await import('./commands/export-samples.ts')
      finished(await exportForSpeculators(store, dir, { ...options, json, overwrite, lastAsIs }))
    })
}

function whole(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a whole number from 1 to 999.')
}

function size(text: string): number {
  const bytes = parseBytes(text)
  if (bytes !== undefined) return bytes
  throw new InvalidArgumentError('Give a size, such as 20GB.')
}
