import { randomUUID } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { availableParallelism } from 'node:os'
import { skippedText } from '../../actors/console/text.ts'
import type { Config } from '../../src/config/schema.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { defaultTraining, type TrainConfig } from '../../src/config/train-schema.ts'
import type { Dataset } from '../../src/dataset/rows.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { Failure } from '../../src/failure.ts'
import type { DrafterConfig } from '../../src/models/drafter-config.ts'
import { drafterConfigOf } from '../../src/models/drafter-fit.ts'
import { hiddenStatesGraph } from '../../src/models/hidden-states.ts'
import { openTarget, type Target } from '../../src/models/target.ts'
import { targetLayerIds } from '../../src/models/target-layers.ts'
import { makeFolderNow } from '../../src/new-folder.ts'
import { outputBytesPerToken, type RunIdentity, type RunPlan } from '../../src/run/identity.ts'
import { runKey } from '../../src/run/stored-run.ts'
import { freeBytes } from '../../src/spool/spool.ts'
import type { StorePlace } from '../../src/store/patient.ts'
import type { Job } from '../job.ts'
import { waitingIn } from './own-spool.ts'
import { tryDevice } from './try-device.ts'

/** All that must be in order before anything starts, and what the run is, as the parts need it. */

/** Layers that a drafter looks at (DFlash). */
const capturedLayers = 5
/** A batch's hidden states lie in memory once: this bounds them, whatever the token budget says. */
const outputBytesMax = 2 * 2 ** 30
const seed = 0

export interface Prepared {
  readonly config: Config
  /** As it is once the run has been claimed there. */
  readonly place: StorePlace
  readonly target: Target
  /** Of the target's files, as they were when they were identified. */
  readonly targetStamp: string
  readonly dataset: Dataset
  readonly identity: RunIdentity
  readonly plan: RunPlan
  readonly outputBytesPerToken: number
  readonly threadsPerDevice: number
  /** What is quarantined and to be tried again: hash → the attempt that ended so. */
  readonly retry: ReadonlyMap<string, number>
  /** The store compares each body with its checksum: uploaders need not. Not before it is tried. */
  readonly storeSums: boolean
  /** Null where nothing trains. */
  readonly training: PreparedTraining | null
}

export interface PreparedTraining {
  /** Of the training, should one begin; then the one that the store tells. */
  readonly id: string
  readonly train: TrainConfig
  readonly drafter: DrafterConfig
  /** Ids of the target, rising, that can be drafted; null: all. The store tells. */
  readonly draftVocab: readonly number[] | null
  /** The checkpoint that it begins from, by name; null: from chance, or where it was. */
  readonly from: string | null
  /** Begin another training, whatever there is. */
  readonly anew: boolean
}

/**
 * Opens target and dataset, builds the model, looks at the disk. Asks nothing of the store.
 *
 * @param signal  nobody waits for it any more: no device is tried from then on
 * @throws  Failure `invalid` or `corrupt`: the first thing that is not in order
 */
export async function prepare(
  config: Config,
  { filling, trains, start }: Pick<Job, 'filling' | 'trains' | 'start'>,
  signal?: AbortSignal,
): Promise<Prepared> {
  requireFolder(config.work)
  const { target, layers } = await targetOf(config)
  const dataset = datasetOf(config)
  const { devices } = config.extract
  const perToken = bytesPerToken(config, { target, layers })
  await requireRoom(config, perToken)
  const trying = { ...(signal && { signal }) }
  for (const device of filling?.computes ? new Set(devices) : [])
    await tryDevice(device, config.work, trying)
  const training = trains ? trainingOf(config, { target, layers }, start) : null
  if (training) await tryDevice(training.train.devices[0], config.work, trying)
  const identity = await identityOf(config, { target, layers })
  return {
    config,
    place: { url: config.store, s3: config.s3, mark: runKey },
    target,
    targetStamp: await target.stamp(),
    dataset,
    identity,
    plan: planOf(config),
    outputBytesPerToken: perToken,
    threadsPerDevice: threadsFor(devices),
    retry: new Map(),
    storeSums: false,
    training,
  }
}

/**
 * The drafter that the configuration asks for.
 *
 * @throws  Failure `invalid`: it cannot be trained; names what is wrong
 */
export function trainingOf(
  config: Config,
  { target, layers }: ChosenTarget,
  start: Job['start'],
): PreparedTraining {
  const train = config.train ?? defaultTraining
  requireOneDevice(train)
  if (train.distill.weight > 0 && !config.target.captureFinal) throw withoutFinal(train)
  const drafter = drafterConfigOf(target.config, {
    layers: train.layers,
    blockSize: train.blockSize,
    targetLayerIds: layers,
    slidingWindow: train.slidingWindow,
    draftVocabSize: train.draftVocab,
    maskTokenId: train.maskTokenId,
  })
  const { from = null, anew = false, id = randomUUID() } = start ?? {}
  // The id that is meant, so that to name it is no other training than to leave it out.
  const { maskTokenId } = drafter
  return { id, train: { ...train, maskTokenId }, drafter, draftVocab: null, from, anew }
}

const withoutFinal = ({ distill }: TrainConfig): Failure =>
  new Failure(
    'invalid',
    `distillation wants what target.captureFinal keeps. train.distill.weight=${distill.weight}`,
    { remedy: 'Set target.captureFinal in a new run, or train.distill.weight to 0.' },
  )

function requireOneDevice({ devices }: TrainConfig): void {
  if (devices.length === 1) return
  const facts = `train.devices=${devices.join(', ')}`
  throw new Failure('invalid', `one device trains in this version. ${facts}`, {
    remedy: 'Name one device in train.devices.',
  })
}

export interface ChosenTarget {
  readonly target: Target
  readonly layers: readonly number[]
}

/** The target, and which of its layers are captured; its graph can be built. */
export async function targetOf(config: Config): Promise<ChosenTarget> {
  const target = await openTarget(config.target.path)
  const { captureFinal, layers: wanted } = config.target
  const count = capturedLayers
  const layers = wanted === 'auto' ? targetLayerIds({ layers: target.layers, count }) : [...wanted]
  hiddenStatesGraph(target, { layers, captureFinal, dtype: config.extract.dtype })
  return { target, layers }
}

/** What is computed together, as the configuration says now. */
export function planOf({ extract: { limit, maxTokens, tokenBudget } }: Config): RunPlan {
  return { tokenBudget, maxTokens, outputBytesMax, limit, seed }
}

/** What makes this run the run it is. */
export async function identityOf(
  config: Config,
  { target, layers }: ChosenTarget,
): Promise<RunIdentity> {
  return {
    target: await target.fingerprint(),
    architecture: target.family,
    layers: [...layers],
    hiddenSize: target.hiddenSize,
    dtype: config.extract.dtype,
    captureFinal: config.target.captureFinal,
    quantization: 'none',
    truncation: 'none',
  }
}

/** The dataset, which has rows. */
export function datasetOf({ dataset: { path, split, columns } }: Config): Dataset {
  const dataset = openDataset(path, { split: split ?? null, columns })
  if (dataset.rows > 0) return dataset
  throw new Failure('invalid', `the dataset has no rows. path=${path}`, {
    remedy: 'Name a dataset, or a split, that has some.',
  })
}

/**
 * A dataset of which nothing can be used is a mistake of names or limits: it is no run well done.
 */
export const noUsableRow = (rows: number, skipped: Readonly<Record<string, number>>): Failure =>
  new Failure('invalid', `no row is usable. rows=${rows}, ${skippedText(skipped)}`, {
    remedy: 'See extract.maxTokens, dataset.columns, and that ids and target belong together.',
  })

/** What one padded token becomes. */
export function bytesPerToken(config: Config, { target, layers }: ChosenTarget): number {
  const { captureFinal } = config.target
  const { hiddenSize } = target
  return outputBytesPerToken({
    captureFinal,
    dtype: config.extract.dtype,
    hiddenSize,
    layers: [...layers],
  })
}

/** The cores are shared by the devices that compute on them. */
export function threadsFor(devices: readonly string[]): number {
  const onCpu = devices.filter((device) => device === 'cpu').length
  return Math.max(1, Math.floor(availableParallelism() / Math.max(1, onCpu)))
}

/** @throws Failure `invalid`: it cannot be made, or not be written */
export function requireFolder(work: string): void {
  try {
    makeFolderNow(work)
    accessSync(work, constants.W_OK)
  } catch (cause) {
    throw new Failure('invalid', `the work folder cannot be used. path=${work}, stored=0`, {
      cause,
      remedy: 'Set work to a folder that can be made and written; see that no file has its name.',
    })
  }
}

/** @throws Failure `invalid`: spool or disk cannot hold even one batch */
export async function requireRoom(config: Config, bytesPerToken: number): Promise<void> {
  const { keepFree, maxBytes } = config.spool
  const { tokenBudget, maxTokens } = config.extract
  const batchBytes = Math.max(
    Math.min(tokenBudget * bytesPerToken, outputBytesMax),
    maxTokens * bytesPerToken,
  )
  if (batchBytes > maxBytes) {
    const facts = `spool.maxBytes=${formatBytes(maxBytes)}, batch=${formatBytes(batchBytes)}`
    throw new Failure('invalid', `the spool cannot hold one batch. ${facts}`, {
      remedy: 'Raise spool.maxBytes, or lower extract.tokenBudget and extract.maxTokens.',
    })
  }
  const free = await freeBytes(config.work)
  if (free - batchBytes >= keepFree) return
  // It is sent before all else, and makes way.
  const { bytes: spooled } = await waitingIn(config.work)
  if (free + spooled - batchBytes < keepFree) {
    const found = `free=${formatBytes(free)}, spool.keepFree=${formatBytes(keepFree)}`
    const facts = `${found}, spooled=${formatBytes(spooled)}, batch=${formatBytes(batchBytes)}`
    throw new Failure('invalid', `the disk of the work folder is too full. ${facts}`, {
      remedy: 'Free some space, put work on another disk, or lower spool.keepFree.',
    })
  }
}
