/** Which training a start goes on with, or begins; settled before any actor starts. */
import { settingChanges, settingsOf } from '../../src/config/train-roles.ts'
import { supervisedCounts } from '../../src/dataset/token-counts.ts'
import { Failure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { mostFrequent } from '../../src/models/draft-vocab.ts'
import type { RunIdentity } from '../../src/run/identity.ts'
import {
  beginTraining,
  keepDrafterConfig,
  type Replacing,
  readTraining,
  type TrainingRecord,
} from '../../src/run/training-record.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Prepared, PreparedTraining } from './preflight.ts'
import {
  draftedBy,
  namedPoint,
  newestPoint,
  ofAnother,
  requireUsable,
  type StartingPoint,
  shapeOf,
} from './starting-point.ts'

/** How often another start may be the quicker one, and its training be gone again. */
const triesMax = 3

export interface BeginOptions {
  /** Whether the store honours conditions. */
  readonly conditional: boolean
  readonly log: Pick<Log, 'warn'>
}

/** What is prepared of a training, and of the run as far as this asks for it. */
export interface ToBegin extends Pick<Prepared, 'dataset' | 'identity' | 'target'> {
  readonly training: PreparedTraining
}

/**
 * The run with its training, where it has one, and configured as that is.
 *
 * @throws  Failure, as `begunTraining`
 */
export async function withTraining(
  store: ObjectStore,
  prepared: Prepared,
  options: BeginOptions,
): Promise<Prepared> {
  if (!prepared.training) return prepared
  const training = await begunTraining(store, { ...prepared, training: prepared.training }, options)
  const { config } = prepared
  // What is kept in the store for other machines is to name the same training.
  const [was, is] = [prepared.training, training].map(({ train }) => settingsOf(train))
  const isOther = settingChanges('identity', was, is).length > 0
  return { ...prepared, training, config: isOther ? { ...config, train: training.train } : config }
}

/**
 * The training that was prepared, with what the store knows of it or is told now.
 *
 * @throws  Failure `invalid`: it was begun with settings that make another training, or what it
 *          would go on from is of another target, or no checkpoint; `superseded`: another has
 *          begun one meanwhile; `corrupt`
 */
export async function begunTraining(
  store: ObjectStore,
  run: ToBegin,
  options: BeginOptions,
): Promise<PreparedTraining> {
  const { anew, from, id } = run.training
  const isAsked = anew || from !== null
  for (let tries = 0; tries < triesMax; tries++) {
    const found = await readTraining(store)
    const isWanted = found !== undefined && (found.record.training === id || !isAsked)
    const going = isWanted ? await goingOn(store, run, { ...options, record: found.record }) : null
    const start = going ?? (await beginning(store, run, options))
    if (going || (await claim(store, start, { ...options, instead: found }))) {
      await keepDrafterConfig(store, start.drafter)
      return start
    }
    if (isAsked) break
  }
  throw new Failure('superseded', `another start has begun a training. store=${store.url}`, {
    remedy: 'See that no other supervisor trains on this store, then start again.',
  })
}

const claim = (
  store: ObjectStore,
  { id, draftVocab, from, train }: PreparedTraining,
  over: Replacing,
): Promise<boolean> => {
  const settings = settingsOf(train)
  return beginTraining(
    store,
    { training: id, draftVocab: draftVocab && [...draftVocab], from, settings },
    over,
  )
}

/**
 * From its newest checkpoint, or from the one that it was to begin from.
 *
 * @returns  null: nothing of it was saved, and it is configured as another now
 */
async function goingOn(
  store: ObjectStore,
  run: Pick<ToBegin, 'identity' | 'training'>,
  { log, record }: Pick<BeginOptions, 'log'> & { readonly record: TrainingRecord },
): Promise<PreparedTraining | null> {
  const found = await comparedWith(store, run, record)
  const { changes } = found
  if (!found.goesOn) {
    const facts = { training: record.training, changes }
    log.warn(facts, 'nothing of the training was saved: another begins, as configured now')
    return null
  }
  for (const change of changes) {
    log.warn({ change }, 'the training began with another value: this one holds for what follows')
  }
  return found.goesOn
}

/** What a start makes of a training that has begun. */
export interface Compared {
  /** Null: nothing of it was saved, and it is configured as another now. */
  readonly goesOn: PreparedTraining | null
  /** The settings that are others now, with both values. */
  readonly changes: readonly string[]
}

/**
 * Changes nothing.
 *
 * @throws  Failure `invalid`: it was begun with settings that make another training, or what it
 *          would go on from is of another target, or no checkpoint; `corrupt`
 */
export async function comparedWith(
  store: ObjectStore,
  { identity, training }: Pick<ToBegin, 'identity' | 'training'>,
  record: TrainingRecord,
): Promise<Compared> {
  const own = await newestPoint(store, record.training, identity)
  const point = own ?? (await firstPoint(store, record, identity))
  const shape = point && shapeOf(point)
  // The call that began it from there may be served a second time, as it was the first.
  const train = training.from === null ? training.train : { ...training.train, ...shape }
  const now = settingsOf(train)
  const others = settingChanges('identity', { ...record.settings, ...shape }, now)
  if (others.length > 0) {
    if (point) throw ofAnother(`the run's. training=${record.training}`, others)
    return { goesOn: null, changes: others }
  }
  if (point && !own) requireUsable(point, train)
  const { draftVocab, from, training: id } = record
  const drafter = point?.drafter ?? training.drafter
  return {
    goesOn: { ...training, id, train, drafter, draftVocab, from },
    changes: settingChanges('plan', record.settings, now),
  }
}

const firstPoint = async (
  store: ObjectStore,
  { from }: TrainingRecord,
  identity: RunIdentity,
): Promise<StartingPoint | undefined> =>
  from === null ? undefined : await namedPoint(store, from, identity)

/** Another training: from chance, or with the drafter of the checkpoint that is named. */
async function beginning(
  store: ObjectStore,
  run: ToBegin,
  { log }: Pick<BeginOptions, 'log'>,
): Promise<PreparedTraining> {
  const { identity, training } = run
  if (training.from === null) return { ...training, draftVocab: await chosenVocab(run) }
  const point = await namedPoint(store, training.from, identity)
  const shape = shapeOf(point)
  for (const change of settingChanges('identity', shape, settingsOf(training.train))) {
    log.warn({ change }, 'the drafter keeps the shape that it has in the checkpoint')
  }
  const train = { ...training.train, ...shape }
  requireUsable(point, train)
  return { ...training, train, drafter: point.drafter, draftVocab: await draftedBy(store, point) }
}

/** The most frequent tokens that are supervised; null: all. */
async function chosenVocab({
  dataset,
  target,
  training,
}: ToBegin): Promise<readonly number[] | null> {
  const { draftVocabSize } = training.drafter
  if (draftVocabSize === null) return null
  const counts = await supervisedCounts(dataset, target.vocabSize)
  return mostFrequent(counts, draftVocabSize).ids
}
