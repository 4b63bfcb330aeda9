import { resolve } from 'node:path'
import type { KeptEvaluation } from '../../src/checkpoint/evaluation.ts'
import type { WholeCheckpoint } from '../../src/checkpoint/list.ts'
import { requireFinite } from '../../src/decode/finite.ts'
import { readPrompts } from '../../src/decode/prompts.ts'
import { Failure } from '../../src/failure.ts'
import { parseDataState } from '../../src/feed/data-state.ts'
import { openLog } from '../../src/log.ts'
import { type Drafter, openDrafter } from '../../src/models/drafter.ts'
import { requireSameTarget } from '../../src/models/drafter-fit.ts'
import { openTarget, type Target } from '../../src/models/target.ts'
import type { Run } from '../../src/run/identity.ts'
import { configKey } from '../../src/run/stored-run.ts'
import { solePermits } from '../../src/store/patient.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { heldOutPrompts } from '../keeping/held-out-prompts.ts'
import { fetchTrainedDrafter, type TrainedDrafter } from '../keeping/trained-drafter.ts'
import { consoleTarget } from '../log-target.ts'
import { type StoreOptions, s3Here, storeOfRun } from '../store-of-run.ts'

/** What an evaluation takes, from folders or from a run's store; looked at before it begins. */

export interface EvalPlaces extends StoreOptions {
  readonly drafter?: string
  readonly target?: string
  readonly prompts?: string
  readonly limit: number
  readonly maxNewTokens: number
  readonly work: string
}

/** Which checkpoint of a store a drafter is. */
export interface Trained {
  readonly checkpoint: string
  readonly step: number
  /** What the training estimated on samples that it held out; null where it did not. */
  readonly tau: number | null
}

export interface EvalParts {
  readonly target: Target
  readonly drafter: Drafter
  readonly prompts: readonly (readonly number[])[]
  readonly promptsFrom: KeptEvaluation['promptsFrom']
  /** With the store that it lies in; null for a drafter that does not come from one. */
  readonly trained: (Trained & { readonly store: ObjectStore }) | null
}

/**
 * @param url  of a run's store: what is not given comes from there, the drafter of its newest
 *             checkpoint
 * @throws     Failure `invalid`: something is missing, or parts do not go together, each thing that
 *             is wrong said before a model is loaded; `corrupt`: a checkpoint is damaged
 */
export async function openEvalParts(
  url: string | undefined,
  places: EvalPlaces,
): Promise<EvalParts> {
  return url === undefined ? await fromFolders(places) : await fromStore(url, places)
}

async function fromFolders(places: EvalPlaces): Promise<EvalParts> {
  const { drafter, target, prompts } = places
  if (drafter === undefined || target === undefined || prompts === undefined) {
    const given = Object.entries({ drafter, target, prompts })
    const missing = given.filter(([, value]) => value === undefined).map(([name]) => `--${name}`)
    throw new Failure('invalid', `eval without a store wants more. missing=${missing.join(', ')}`, {
      remedy: 'Name the store of a run, or all of --drafter, --target and --prompts.',
    })
  }
  const pair = await openPair(await openTarget(resolve(target)), drafter)
  const read = await promptsOfFile(prompts, pair, places)
  return { ...pair, prompts: read, promptsFrom: 'a file', trained: null }
}

async function fromStore(url: string, places: EvalPlaces): Promise<EvalParts> {
  const place = { url, s3: s3Here(places) }
  const opened = await storeOfRun(place, { actor: 'eval', acquire: solePermits(100) })
  const target = await targetOf(opened.run, places)
  // Fetched once, and not at all where drafter and prompts are given.
  let fetched: Promise<TrainedDrafter> | undefined
  const training = () => {
    fetched ??= fetchTrainedDrafter(opened.store, resolve(places.work))
    return fetched
  }
  const pair = await openPair(target, places.drafter ?? (await training()).dir)
  const trained =
    places.drafter === undefined
      ? { ...trainedOf((await training()).checkpoint), store: opened.store }
      : null
  if (places.prompts !== undefined) {
    const prompts = await promptsOfFile(places.prompts, pair, places)
    return { ...pair, prompts, promptsFrom: 'a file', trained }
  }
  const prompts = await promptsOfStore({ ...opened, ...(await training()) }, pair, places)
  return { ...pair, prompts, promptsFrom: 'held-out samples', trained }
}

async function targetOf(run: Run, { target: path }: EvalPlaces): Promise<Target> {
  const target = await openTarget(resolve(path ?? run.targetPath))
  const [want, found] = [run.identity.target, await target.fingerprint()]
  if (want === found) return target
  const facts = `target=${target.dir}, want=${want}, found=${found}`
  throw new Failure('invalid', `the target is not the run's. ${facts}`, {
    remedy: 'Name the checkpoint that the run was made with, with --target.',
  })
}

interface Pair {
  readonly target: Target
  readonly drafter: Drafter
}

async function openPair(target: Target, dir: string): Promise<Pair> {
  const drafter = await openDrafter(resolve(dir))
  requireSameTarget(drafter.config, target)
  await requireFinite(drafter)
  return { target, drafter }
}

const trainedOf = ({ name, step, state }: WholeCheckpoint): Trained => ({
  checkpoint: name,
  step,
  tau: state.tau,
})

/** Behind the last position that a model was made for it says anything. */
function promptMaxOf({ target, drafter }: Pair, { maxNewTokens }: EvalPlaces): number {
  const { maxPositions, blockSize } = drafter.config
  return Math.min(target.config.maxPositions, maxPositions) - maxNewTokens - blockSize
}

async function promptsOfFile(path: string, pair: Pair, places: EvalPlaces): Promise<number[][]> {
  const { vocabSize } = pair.target
  const prompts = await readPrompts(path, { limit: places.limit, vocabSize })
  const max = promptMaxOf(pair, places)
  const longest = Math.max(...prompts.map((prompt) => prompt.length))
  if (longest <= max) return prompts
  const facts = `longest prompt=${longest}, room for=${max} before --max-new-tokens`
  throw new Failure('invalid', `a text would be longer than the models were made for. ${facts}`, {
    remedy: 'Set --max-new-tokens lower, or leave out the longest prompts.',
  })
}

interface StoredTraining extends TrainedDrafter {
  readonly store: ObjectStore
  readonly configText: string | undefined
}

async function promptsOfStore(
  { store, configText, checkpoint }: StoredTraining,
  pair: Pair,
  places: EvalPlaces,
): Promise<number[][]> {
  const { split } = parseDataState(checkpoint.state.data).log
  if (split === null || configText === undefined) {
    const what = split === null ? 'the training held nothing out' : `there is no ${configKey}`
    throw new Failure('invalid', `the store has no prompts: ${what}. store=${store.url}`, {
      remedy: 'Give prompts with --prompts.',
    })
  }
  return await heldOutPrompts({
    ...{ store, configText, split },
    work: resolve(places.work),
    vocabSize: pair.target.vocabSize,
    limit: places.limit,
    promptMax: promptMaxOf(pair, places),
    log: openLog({ ...consoleTarget, actor: 'eval' }),
  })
}
