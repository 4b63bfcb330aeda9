import { join, resolve } from 'node:path'
import { formatBytes } from '../../src/config/sizes.ts'
import { openDecodingDrafter } from '../../src/decode/drafter-text.ts'
import { type Evaluation, evaluate } from '../../src/decode/evaluate.ts'
import { requireFinite } from '../../src/decode/finite.ts'
import { readPrompts } from '../../src/decode/prompts.ts'
import { stopTokensOf } from '../../src/decode/stop-tokens.ts'
import { openDecodingTarget } from '../../src/decode/target-text.ts'
import { Failure } from '../../src/failure.ts'
import { openLog } from '../../src/log.ts'
import { type Drafter, openDrafter } from '../../src/models/drafter.ts'
import { requireSameTarget } from '../../src/models/drafter-fit.ts'
import { openTarget, type Target } from '../../src/models/target.ts'
import { Tally } from '../display/tally.ts'
import { consoleTarget } from '../log-target.ts'
import { exitCodes } from '../run/machine.ts'
import { requireFolder, threadsFor } from '../run/preflight.ts'
import { exitCodeOf, onEndSignals } from '../run/signals.ts'
import { evalText } from './eval-text.ts'

/** `eval`: how many of a drafter's tokens its target takes, and that nothing else changes. */

export interface EvalOptions {
  readonly drafter: string
  readonly target: string
  readonly prompts: string
  readonly limit: number
  readonly maxNewTokens: number
  readonly temperature: number
  readonly seed: number
  readonly work: string
  readonly json: boolean
}

export interface Evaluated extends Evaluation {
  readonly drafter: string
  readonly target: string
  readonly blockSize: number
  readonly prompts: number
  readonly maxNewTokens: number
  readonly temperature: number
  readonly seed: number
}

/**
 * @throws  Failure `invalid`: drafter, target and prompts do not go together, each thing that is
 *          wrong said before a model is loaded; `corrupt`: a checkpoint is damaged
 */
export async function evaluateDrafter(options: EvalOptions): Promise<number> {
  const target = await openTarget(resolve(options.target))
  const drafter = await openDrafter(resolve(options.drafter))
  requireSameTarget(drafter.config, target)
  const prompts = await readPrompts(options.prompts, { ...options, vocabSize: target.vocabSize })
  requirePositions(prompts, { target, drafter, maxNewTokens: options.maxNewTokens })
  await requireFinite(drafter)
  // Between two forward passes: nothing is under way that would have to be ended.
  onEndSignals((signal) => process.exit(exitCodeOf(signal)))
  const found: Evaluated = {
    drafter: drafter.dir,
    target: target.dir,
    blockSize: drafter.config.blockSize,
    prompts: prompts.length,
    maxNewTokens: options.maxNewTokens,
    temperature: options.temperature,
    seed: options.seed,
    ...(await evaluated({ target, drafter }, prompts, options)),
  }
  process.stdout.write(`${options.json ? JSON.stringify(found) : evalText(found)}\n`)
  return found.differences.every(({ isTie }) => isTie) ? exitCodes.done : exitCodes.incomplete
}

async function evaluated(
  { target, drafter }: { readonly target: Target; readonly drafter: Drafter },
  prompts: readonly (readonly number[])[],
  options: EvalOptions,
): Promise<Evaluation> {
  const work = resolve(options.work)
  requireFolder(work)
  const log = openLog({ ...consoleTarget, actor: 'eval' })
  const place = (name: string) => ({
    dir: join(work, 'model', name),
    device: 'cpu',
    threads: threadsFor(['cpu']),
    onCopy: ({ path, bytes }: { readonly path: string; readonly bytes: number }) =>
      log.info({ file: path, size: formatBytes(bytes) }, 'weights cannot be linked: copying them'),
  })
  const { targetLayerIds, blockSize } = drafter.config
  const opened = {
    target: await openDecodingTarget(target, targetLayerIds, place('decoding-target')),
    drafter: await openDecodingDrafter({ drafter, target }, place('decoding-drafter')),
  }
  const tally = new Tally('prompts', prompts.length)
  const { maxNewTokens, temperature, seed } = options
  const stopTokens = await stopTokensOf(target.dir)
  const settings = { blockSize, maxNewTokens, temperature, seed, stopTokens, onPrompt: tally.one }
  const found = await evaluate(opened, prompts, settings)
  tally.end()
  await Promise.all([opened.target.release(), opened.drafter.release()])
  return found
}

/** Behind the last position that a model was made for it says anything. */
function requirePositions(
  prompts: readonly (readonly number[])[],
  of: { readonly target: Target; readonly drafter: Drafter; readonly maxNewTokens: number },
): void {
  const { config } = of.drafter
  const max = Math.min(of.target.config.maxPositions, config.maxPositions)
  const longest = Math.max(...prompts.map((prompt) => prompt.length))
  const want = longest + of.maxNewTokens + config.blockSize
  if (want <= max) return
  const facts = `longest prompt=${longest}, new tokens=${of.maxNewTokens}, positions=${max}`
  throw new Failure('invalid', `a text would be longer than the models were made for. ${facts}`, {
    remedy: 'Set --max-new-tokens lower, or leave out the longest prompts.',
  })
}
