/** Which checkpoint a training goes on from, and what it then is. */
import { explain, Failure, isFailure, printable } from '../failure.ts'
import type { ObjectStore } from '../store/store.ts'
import { type Expected, requireSameTraining, trainedTensors } from './accept.ts'
import { readHint } from './latest.ts'
import {
  askForCheckpoint,
  type CheckpointFolder,
  type Half,
  isHalf,
  listCheckpoints,
  lookInto,
  type WholeCheckpoint,
} from './list.ts'
import { compareCheckpoints, fileKey, isFolderName } from './names.ts'
import { checkBytes, readTensors, twice } from './read-tensors.ts'
import { progressOf } from './state.ts'
import type { TrainingState } from './tensors.ts'

/** Of a long list in a message: the newest. */
const namedMax = 8

/** What a training goes on with, and where it was found. */
export interface Restored {
  readonly checkpoint: WholeCheckpoint
  readonly state: TrainingState
}

/** What is passed over on the way to a whole one: newer, and half. */
export type OnHalf = (half: Half) => void

/**
 * The checkpoints of a training that are whole as far as sizes tell, the newest first. Half ones
 * are told and passed over.
 *
 * @param training  absent: of whatever training
 */
export async function* newestFirst(
  store: ObjectStore,
  options: { readonly training?: string; readonly onHalf?: OnHalf } = {},
): AsyncGenerator<WholeCheckpoint> {
  const folders = await listCheckpoints(store)
  const hinted = await hintedFolder(store, folders)
  for (const folder of [...folders, ...hinted].sort(compareCheckpoints).reverse()) {
    const found = await lookInto(store, folder)
    if (isHalf(found)) options.onHalf?.(found)
    else if (options.training === undefined || found.state.training === options.training) {
      yield found
    }
  }
}

/** What a store has, and lists late, is asked for by the name that the hint tells. */
async function hintedFolder(
  store: ObjectStore,
  folders: readonly CheckpointFolder[],
): Promise<CheckpointFolder[]> {
  const hint = await readHint(store)
  if (!hint || folders.some(({ name }) => name === hint.name)) return []
  const found = await askForCheckpoint(store, hint.name)
  return found ? [found] : []
}

/**
 * Reads the newest complete checkpoint of a training: its state is there, sizes and checksums hold.
 *
 * @returns  undefined: it has none
 * @throws   Failure `invalid`: it is of another drafter or target, or holds what is no number
 */
export async function restoreNewest(
  store: ObjectStore,
  of: { readonly training: string; readonly expected: Expected; readonly onHalf?: OnHalf },
): Promise<Restored | undefined> {
  const { expected, ...which } = of
  for await (const checkpoint of newestFirst(store, which)) {
    try {
      return await restored(store, checkpoint, expected)
    } catch (error) {
      if (!isFailure(error, 'corrupt')) throw error
      of.onHalf?.({ name: checkpoint.name, why: explain(error) })
    }
  }
  return undefined
}

/**
 * Reads the checkpoint of this name, of whatever training.
 *
 * @throws  Failure `invalid`: there is none of this name, or as above; `corrupt`: it is half
 */
export async function restoreNamed(
  store: ObjectStore,
  of: { readonly name: string; readonly expected: Expected },
): Promise<Restored> {
  const checkpoint = await wholeNamed(store, of.name)
  try {
    return await restored(store, checkpoint, of.expected)
  } catch (error) {
    throw isFailure(error, 'corrupt') ? notComplete(of.name, explain(error)) : error
  }
}

/** @throws Failure `invalid`: none of this name; `corrupt`: it is half, as far as sizes tell */
export async function wholeNamed(store: ObjectStore, name: string): Promise<WholeCheckpoint> {
  const folder = isFolderName(name) ? await askForCheckpoint(store, name) : undefined
  if (!folder) {
    const there = (await listCheckpoints(store)).map((other) => other.name)
    const found = there.slice(-namedMax).join(', ') || 'none'
    const facts = `checkpoint=${printable(name)}, found=${found}`
    throw new Failure('invalid', `the store has no such checkpoint. ${facts}`, {
      remedy: 'Name a folder below checkpoints/, or none for the newest.',
    })
  }
  const found = await lookInto(store, folder)
  if (isHalf(found)) throw notComplete(name, found.why)
  return found
}

async function restored(
  store: ObjectStore,
  checkpoint: WholeCheckpoint,
  expected: Expected,
): Promise<Restored> {
  requireSameTraining(checkpoint, expected)
  const { name, state } = checkpoint
  const { files } = state
  const model = await twice(() => readTensors(store, fileKey(name, 'model'), files.model))
  const optimizer = await twice(() =>
    readTensors(store, fileKey(name, 'optimizer'), files.optimizer),
  )
  const tensors = trainedTensors({ name, model, optimizer }, expected)
  return { checkpoint, state: { progress: progressOf(state), tensors } }
}

/** Why a checkpoint is not what was saved; null where every byte is. */
export async function faultOf(
  store: ObjectStore,
  { name, state: { files } }: WholeCheckpoint,
): Promise<string | null> {
  try {
    await twice(() => checkBytes(store, fileKey(name, 'model'), files.model))
    await twice(() => checkBytes(store, fileKey(name, 'optimizer'), files.optimizer))
    return null
  } catch (error) {
    if (isFailure(error, 'corrupt')) return explain(error)
    throw error
  }
}

const notComplete = (name: string, why: string): Failure =>
  new Failure('corrupt', `the checkpoint is not complete: ${why}. checkpoint=${name}`, {
    remedy: 'Name another one, or none for the newest that is complete.',
  })
