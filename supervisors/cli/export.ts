import { type Command, Option } from 'commander'
import { parseBytes } from '../../src/config/sizes.ts'
import { parallelDefault } from '../keeping/verify-depth.ts'
import { requests, size, step } from './values.ts'

/** `export`, as `main.ts` lists it. */

type Finished = (code: number) => void

interface ExportArguments {
  readonly format: 'z-lab' | 'speculators'
  readonly checkpoint?: number
  readonly dtype: 'bf16' | 'f32'
  readonly target?: string
  readonly lastAsIs?: true
  readonly overwrite?: true
  readonly keepFree: number
  readonly parallel: number
  readonly work?: string
  readonly endpoint?: string
  readonly region?: string
  readonly json?: true
}

export function addExport(program: Command, finished: Finished): void {
  program
    .command('export')
    .argument('<store>', 's3://bucket/prefix or file:///path')
    .argument('<dir>', 'where it is written to')
    .description('a drafter, for vLLM, SGLang and z-lab’s code; or samples, for speculators')
    .addOption(choice('--format <name>', 'what is written', ['z-lab', 'speculators']))
    .option('--checkpoint <step>', 'of the drafter; else the newest that is complete', step)
    .addOption(choice('--dtype <type>', 'of the drafter’s weights', ['bf16', 'f32']))
    .option('--target <dir>', 'the target’s checkpoint, where it is not where it was')
    .option('--last-as-is', 'of samples: whatever state was kept last, not that of the last layer')
    .option('--overwrite', 'replace what bears the same names; all else in the folder stays')
    .addOption(keepFree)
    .option('--parallel <n>', 'requests open at once', requests, parallelDefault)
    .option('--work <dir>', 'of samples: a work folder that has the dataset, or keeps it')
    .option('--endpoint <url>', 'of an S3-compatible store; else AWS_ENDPOINT_URL')
    .option('--region <name>', 'of the bucket; else AWS_REGION')
    .option('--json', 'print one JSON document on stdout')
    .action(async (store: string, dir: string, given: ExportArguments) => {
      const { json = false, overwrite = false, lastAsIs = false, checkpoint = null } = given
      const options = { ...given, json, overwrite, lastAsIs, checkpoint }
      if (given.format === 'speculators') {
        const { exportForSpeculators } = await import('../commands/export-samples.ts')
        finished(await exportForSpeculators(store, dir, options))
      } else {
        const { exportDrafter } = await import('../commands/export-drafter.ts')
        finished(await exportDrafter(store, dir, options))
      }
    })
}

const keepFree = new Option('--keep-free <size>', 'of samples: what the disk keeps')
  .argParser(size)
  .default(parseBytes('20GB'), '20GB')

/** The first is the default. */
const choice = (flags: string, text: string, values: readonly string[]): Option =>
  new Option(flags, text).choices([...values]).default(values[0])
