import { join, resolve } from 'node:path'
import { type KeptEvaluation, keepEvaluation } from '../../src/checkpoint/evaluation.ts'
import { wallClock } from '../../src/clock.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { openDecodingDrafter } from '../../src/decode/drafter-text.ts'
import { type Evaluation, evaluate } from '../../src/decode/evaluate.ts'
import { stopTokensOf } from '../../src/decode/stop-tokens.ts'
import { openDecodingTarget } from '../../src/decode/target-text.ts'
import { isFailure } from '../../src/failure.ts'
import { openLog } from '../../src/log.ts'
import { Tally } from '../display/tally.ts'
import { consoleTarget } from '../log-target.ts'
import { exitCodes } from '../run/machine.ts'
import { requireFolder, threadsFor } from '../run/preflight.ts'
import { exitCodeOf, onEndSignals } from '../run/signals.ts'
import { type EvalParts, type EvalPlaces, openEvalParts, type Trained } from './eval-parts.ts'
import { evalText } from './eval-text.ts'

/** `eval`: how many of a drafter's tokens its target takes, and that nothing else changes. */

export interface EvalOptions extends EvalPlaces {
  /** Of what, where several are evaluated: their progress says so. */
  readonly what?: string
  readonly temperature: number
  readonly seed: number
  readonly json: boolean
}

export interface Evaluated extends Evaluation {
  readonly drafter: string
  readonly target: string
  /** Null for a drafter that does not come from a store. */
  readonly trained: Trained | null
  readonly blockSize: number
  readonly prompts: number
  readonly promptsFrom: EvalParts['promptsFrom']
  readonly maxNewTokens: number
  readonly temperature: number
  readonly seed: number
}

/** @throws  Failure as `openEvalParts` */
export async function evaluateDrafter(
  store: string | undefined,
  options: EvalOptions,
): Promise<number> {
  // Between two forward passes: nothing is under way that would have to be ended.
  onEndSignals((signal) => process.exit(exitCodeOf(signal)))
  const found = await evaluationOf(store, options)
  process.stdout.write(`${options.json ? JSON.stringify(found) : evalText(found)}\n`)
  return found.differences.every(({ isTie }) => isTie) ? exitCodes.done : exitCodes.incomplete
}

/**
 * What was found of a store's checkpoint is kept beside it.
 *
 * @throws  Failure as `openEvalParts`
 */
export async function evaluationOf(
  store: string | undefined,
  options: Omit<EvalOptions, 'json'>,
): Promise<Evaluated> {
  const parts = await openEvalParts(store, options)
  const { maxNewTokens, temperature, seed } = options
  const { promptsFrom, trained } = parts
  const found = {
    drafter: parts.drafter.dir,
    target: parts.target.dir,
    trained: trained && { checkpoint: trained.checkpoint, step: trained.step, tau: trained.tau },
    blockSize: parts.drafter.config.blockSize,
    prompts: parts.prompts.length,
    ...{ promptsFrom, maxNewTokens, temperature, seed },
    ...(await evaluated(parts, options)),
  }
  if (trained) await keep(trained, found)
  return found
}

/** Without it the figures are printed all the same: a reader may have no right to write there. */
async function keep(
  { store, checkpoint }: NonNullable<EvalParts['trained']>,
  found: Evaluated,
): Promise<void> {
  const kept = toKeep(found)
  if (!kept) return
  const log = openLog({ ...consoleTarget, actor: 'eval' })
  try {
    const isThere = await keepEvaluation(store, checkpoint, kept)
    if (!isThere) log.warn({ checkpoint }, 'the checkpoint was removed: its figures are not kept')
  } catch (err) {
    if (!isFailure(err)) throw err
    log.warn({ err, checkpoint }, 'the figures are not kept beside the checkpoint')
  }
}

/** Undefined where no prompt took a step: there is no figure. */
function toKeep(found: Evaluated): KeptEvaluation | undefined {
  const { interval, meanOfPrompts, prompts, steps, tau } = found.acceptance
  if (tau === null || meanOfPrompts === null) return undefined
  const { maxNewTokens, promptsFrom, seed, temperature } = found
  return {
    evaluatedAt: new Date(wallClock.now()).toISOString(),
    ...{ tau, interval: interval && [...interval], meanOfPrompts, prompts, steps },
    ...{ promptsFrom, maxNewTokens, temperature, seed },
    changed: found.differences.filter(({ isTie }) => !isTie).length,
  }
}

async function evaluated(
  { target, drafter, prompts }: EvalParts,
  options: Omit<EvalOptions, 'json'>,
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
  const { maxNewTokens, temperature, seed, what } = options
  const tally = new Tally(what === undefined ? 'prompts' : `${what}: prompts`, prompts.length)
  const stopTokens = await stopTokensOf(target.dir)
  const settings = { blockSize, maxNewTokens, temperature, seed, stopTokens, onPrompt: tally.one }
  const found = await evaluate(opened, prompts, settings)
  tally.end()
  await Promise.all([opened.target.release(), opened.drafter.release()])
  return found
}
