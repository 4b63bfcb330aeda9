#!/usr/bin/env node
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError } from 'commander'
import { explain, isFailure } from '../src/failure.ts'
import { openLog } from '../src/log.ts'
import { addDrafting } from './cli/drafter.ts'
import { addDrill } from './cli/drill.ts'
import { addExport } from './cli/export.ts'
import { addKeeping } from './cli/store.ts'
import { isWatched, launch } from './launcher.ts'
import { consoleTarget } from './log-target.ts'
import { exitCodes } from './run/machine.ts'

/** The process's entry: arguments in, exit code out. Commands load only when they are asked for. */

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
const json = ['--json', 'print one JSON document on stdout'] as const
const storeOptions = [
  ['--endpoint <url>', 'of an S3-compatible store; else AWS_ENDPOINT_URL'],
  ['--region <name>', 'of the bucket; else AWS_REGION'],
] as const

const helpRemedy = 'See draftsmith --help, or draftsmith COMMAND --help.'

const program = new Command('draftsmith')
  .description('Turns a large language model into a speculative-decoding drafter.')
  .version(version)
  .exitOverride()
  .showSuggestionAfterError()
  .showHelpAfterError(helpRemedy)

const benchHelp = `
  extract   the whole pipeline beside onnxruntime alone, on the same batches (--rows)
  startup   from the start of the process to a large dataset's first batch (--rows)
  replay    reading a manifest, commits and compactions (--entries)
  resume    what a new machine asks of a store, beside listing it (--entries)
  recover   from a new machine's start until it computes, late in a big job (--entries)
  upload    files to an S3 server, beside other clients (--files, --tls)
  train     an optimizer step, beside PyTorch where python3 has it`

let code: number = exitCodes.done

/**
 * Computes in a process of its own, under a launcher that starts it again when it is aborted. What
 * the command is made of is loaded there alone: a launcher holds no native code.
 */
async function watched(command: () => Promise<number>): Promise<number> {
  if (isWatched()) return await command()
  const log = openLog({ ...consoleTarget, actor: 'launcher' })
  return await launch(fileURLToPath(import.meta.url), process.argv.slice(2), log)
}

program
  .command('run')
  .argument('<config>', 'of the run: YAML or JSON')
  .description('extract hidden states and store them, as configured; goes on where it was')
  .option(...json)
  .action(async (config: string, options: { json?: true }) => {
    code = await watched(async () => {
      const { run } = await import('./commands/run.ts')
      return await run(config, { json: options.json ?? false })
    })
  })

program
  .command('resume')
  .argument('<store>', 's3://bucket/prefix or file:///path')
  .description('a run from the store alone, on a machine that has nothing else')
  .option('--work <dir>', 'spool, socket and logs', './work')
  .option('--target <dir>', 'the target checkpoint, where it is not where it was')
  .option(...storeOptions[0])
  .option(...storeOptions[1])
  .option(...json)
  .action(async (store: string, options: ResumeArguments) => {
    code = await watched(async () => {
      const { resume } = await import('./commands/resume.ts')
      return await resume(store, { ...options, json: options.json ?? false })
    })
  })

interface ResumeArguments {
  readonly work: string
  readonly target?: string
  readonly endpoint?: string
  readonly region?: string
  readonly json?: true
}

program
  .command('train')
  .argument('<config|store>', 'a configuration, or s3://bucket/prefix, or file:///path')
  .description('train a drafter on what is stored; goes on where it was')
  .option('--from <checkpoint>', 'go on from this one, a folder below checkpoints/')
  .option('--new', 'begin another training; the checkpoints of earlier ones stay')
  .option('--work <dir>', 'of a store: spool, socket and logs', './work')
  .option('--target <dir>', 'the target checkpoint, where it is not where it was')
  .option(...storeOptions[0])
  .option(...storeOptions[1])
  .option(...json)
  .action(async (of: string, options: TrainArguments) => {
    code = await watched(async () => {
      const { train } = await import('./commands/train.ts')
      return await train(of, { ...options, new: options.new ?? false, json: options.json ?? false })
    })
  })

interface TrainArguments extends ResumeArguments {
  readonly from?: string
  readonly new?: true
}

program
  .command('retry-quarantined')
  .argument('<config>', 'of the run: YAML or JSON')
  .description('run, and compute again what could not be computed before')
  .option(...json)
  .action(async (config: string, options: { json?: true }) => {
    code = await watched(async () => {
      const { retryQuarantined } = await import('./commands/retry-quarantined.ts')
      return await retryQuarantined(config, { json: options.json ?? false })
    })
  })

program
  .command('import')
  .argument('<dir>', 'where the files lie, in it and below')
  .argument('<config>', 'of the run: YAML or JSON')
  .description('take files extracted before, where a row proves them; they stay where they are')
  .option(...json)
  .action(async (dir: string, config: string, options: { json?: true }) => {
    code = await watched(async () => {
      const { importFiles } = await import('./commands/import.ts')
      return await importFiles(dir, config, { json: options.json ?? false })
    })
  })

program
  .command('status')
  .description('where a running supervisor stands')
  .option('--work <dir>', 'its work folder', './work')
  .option(...json)
  .action(async (options: { work: string; json?: true }) => {
    const { status } = await import('./commands/status.ts')
    code = await status({ work: options.work, json: options.json ?? false })
  })

program
  .command('attach')
  .description(
    'the console of a running supervisor: status, top, pause, kill, set, …; `help` there',
  )
  .option('--work <dir>', 'its work folder', './work')
  .action(async (options: { work: string }) => {
    const { attach } = await import('./commands/attach.ts')
    code = await attach(options)
  })

program
  .command('check')
  .argument('<config>', 'of the run: YAML or JSON')
  .description('look at everything a run needs, and tell all that is wrong')
  .option(...json)
  .action(async (config: string, options: { json?: true }) => {
    const { check } = await import('./commands/check.ts')
    code = await check(config, { json: options.json ?? false })
  })

addKeeping(program, (ended) => {
  code = ended
})
addDrafting(program, (ended) => {
  code = ended
})
addExport(program, (ended) => {
  code = ended
})
addDrill(program, (ended) => {
  code = ended
})

program
  .command('demo')
  .description('all of it, tiny, embedded: no account, no GPU, no download')
  .option('--work <dir>', 'where it lies', './work/demo')
  .option(...json)
  .action(async (options: { work: string; json?: true }) => {
    code = await watched(async () => {
      const { demo } = await import('./commands/demo.ts')
      return await demo({ work: options.work, json: options.json ?? false })
    })
  })

program
  .command('bench')
  .argument('<name>', 'extract, startup, replay, resume, recover, upload or train: see below')
  .description('measure again what the README claims')
  .addHelpText('after', benchHelp)
  .option('--repeats <count>', 'how often each side is measured (default: 3 to 9, by name)')
  .option('--rows <count>', 'of the dataset, for extract (default: 200) and startup (902087)')
  .option(
    '--entries <count>',
    'of the manifest, for replay, recover (default: 914000), resume (50000)',
  )
  .option('--files <count>', 'of 1.1 MB, for upload (default: 1500)')
  .option('--tls', 'for upload: through TLS, with a certificate of its own')
  .option('--work <dir>', 'where it works, and keeps what is dear to make; else a temporary folder')
  .option(...json)
  .action(async (name: string, options: BenchArguments) => {
    const { bench } = await import('./commands/bench.ts')
    code = await bench(name, { ...options, json: options.json ?? false })
  })

interface BenchArguments {
  readonly repeats?: string
  readonly rows?: string
  readonly entries?: string
  readonly files?: string
  readonly tls?: true
  readonly work?: string
  readonly json?: true
}

try {
  await program.parseAsync()
} catch (error) {
  code = codeOf(error)
}
process.exit(code)

function codeOf(error: unknown): number {
  if (error instanceof CommanderError) return usageCode(error)
  if (!isFailure(error)) {
    console.error(error)
    return exitCodes.bug
  }
  // A store out of reach before anything began is refused too: giving up is for what was under way.
  const code = error.kind === 'superseded' ? exitCodes.held : exitCodes.refused
  const reason = explain(error)
  const remedy = error.remedy ?? null
  process.stderr.write(`draftsmith: ${reason}\n`)
  if (remedy) process.stderr.write(`  ${remedy}\n`)
  tellJson({ code, reason, remedy })
  return code
}

/** Commander has told what was wrong on stderr; or help, or the version, which were asked for. */
function usageCode({ exitCode, message }: CommanderError): number {
  if (exitCode === 0) return exitCodes.done
  const code = exitCodes.refused
  const reason = message.replace(/^error: /, '')
  tellJson({ code, reason, remedy: helpRemedy })
  return code
}

function tellJson(refusal: {
  readonly code: number
  readonly reason: string
  readonly remedy: string | null
}): void {
  if (!process.argv.includes('--json')) return
  process.stdout.write(`${JSON.stringify(refusal)}\n`)
}
