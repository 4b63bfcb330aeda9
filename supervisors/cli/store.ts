import type { Command } from 'commander'
import { headsDefault, parallelDefault } from '../keeping/verify-depth.ts'
import { hours, requests, wholeOrAll } from './values.ts'

/** The commands that look after a store, as `main.ts` lists them. */

type Finished = (code: number) => void
interface StoreArguments {
  readonly endpoint?: string
  readonly region?: string
  readonly json?: true
}

const json = ['--json', 'print one JSON document on stdout'] as const
const ofStore = (command: Command): Command =>
  command
    .option('--endpoint <url>', 'of an S3-compatible store; else AWS_ENDPOINT_URL')
    .option('--region <name>', 'of the bucket; else AWS_REGION')
const parallel = ['--parallel <n>', 'requests open at once', requests, parallelDefault] as const

export function addKeeping(program: Command, finished: Finished): void {
  addVerify(program, finished)
  addExplain(program, finished)
  addGc(program, finished)
}

function addVerify(program: Command, finished: Finished): void {
  interface Arguments extends StoreArguments {
    readonly heads: number
    readonly deep?: true
    readonly repair?: true
    readonly parallel: number
  }
  ofStore(
    program
      .command('verify')
      .argument('<store>', 's3://bucket/prefix or file:///path')
      .description('the manifest against the store; exit 1 and the keys where they differ'),
  )
    .option(
      '--heads <n|all>',
      'objects whose checksum the store is asked for',
      wholeOrAll,
      headsDefault,
    )
    .option('--deep', 'read every byte: checksums, headers, shapes, finite values, token ids')
    .option('--repair', 'mark what differs as lost, so that the next run extracts it again')
    .option(...parallel)
    .option(...json)
    .action(async (store: string, options: Arguments) => {
      const { verify } = await import('../commands/verify.ts')
      const { deep = false, repair = false, json = false } = options
      finished(await verify(store, { ...options, deep, repair, json }))
    })
}

function addExplain(program: Command, finished: Finished): void {
  interface Arguments extends StoreArguments {
    readonly config?: string
    readonly store?: string
    readonly work?: string
  }
  ofStore(
    program
      .command('explain')
      .argument('<row|hash>', 'a row from 0, or a hash: 32 hex digits, or its first four or more')
      .description('where a sample is, why, and what became of it so far')
      .option('--config <file>', 'the configuration of its run; -: from stdin')
      .option('--store <url>', 'in place of it: what the store alone knows')
      .option('--work <dir>', 'with --store: the work folder of this machine'),
  )
    .option(...json)
    .action(async (sample: string, options: Arguments) => {
      const { explainSample } = await import('../commands/explain.ts')
      finished(await explainSample(sample, { ...options, json: options.json ?? false }))
    })
}

function addGc(program: Command, finished: Finished): void {
  interface Arguments extends StoreArguments {
    readonly dryRun?: true
    readonly olderThan?: number
    readonly parallel: number
  }
  ofStore(
    program
      .command('gc')
      .argument('<store>', 's3://bucket/prefix or file:///path')
      .description('remove what is of no use to a run; refused while a supervisor holds it'),
  )
    .option('--dry-run', 'tell what would be removed, and remove nothing')
    .option('--older-than <age>', 'such as 7d; never below a day, which is the default', hours)
    .option(...parallel)
    .option(...json)
    .action(async (store: string, options: Arguments) => {
      const { gc } = await import('../commands/gc.ts')
      const { dryRun = false, json = false, olderThan: olderThanMs = hours('24h') } = options
      finished(await gc(store, { ...options, dryRun, json, olderThanMs }))
    })
}
