import type { Command } from 'commander'
import { seed, temperature, whole } from './values.ts'

/** The commands about a drafter, as `main.ts` lists them. */

type Finished = (code: number) => void

export function addDrafting(program: Command, finished: Finished): void {
  program
    .command('eval')
    .argument('[store]', 's3://bucket/prefix or file:///path; left out with --drafter')
    .description('decode with a drafter and without: tokens a step, speed, and the same text')
    .option('--drafter <dir>', "as z-lab publishes them; else the store's newest checkpoint")
    .option('--target <dir>', "the target's checkpoint, where it is not where it was")
    .option('--prompts <file>', '{"input_ids": [...]} on each line; else the samples held out')
    .option('--limit <n>', 'at most so many prompts', whole, 100)
    .option('--max-new-tokens <n>', 'decoded after each', whole, 256)
    .option('--temperature <t>', 'above 0 tokens are drawn', temperature, 0)
    .option('--seed <n>', 'of what is drawn', seed, 0)
    .option('--work <dir>', 'where the models are laid out', './work')
    .option('--endpoint <url>', 'of an S3-compatible store; else AWS_ENDPOINT_URL')
    .option('--region <name>', 'of the bucket; else AWS_REGION')
    .option('--json', 'print one JSON document on stdout')
    .action(async (store: string | undefined, options: EvalArguments) => {
      const { evaluateDrafter } = await import('../commands/eval.ts')
      finished(await evaluateDrafter(store, { ...options, json: options.json ?? false }))
    })
}

interface EvalArguments {
  readonly drafter?: string
  readonly target?: string
  readonly prompts?: string
  readonly limit: number
  readonly maxNewTokens: number
  readonly temperature: number
  readonly seed: number
  readonly work: string
  readonly endpoint?: string
  readonly region?: string
  readonly json?: true
}
