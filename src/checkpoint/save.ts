/** A training's state becomes a checkpoint: its files, then what makes them one, then the hint. */
import { setImmediate as turn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { Failure, isFailure } from '../failure.ts'
import { probe } from '../probe.ts'
import { encodeSafetensors } from '../safetensors/write.ts'
import { type PartSizes, putFile } from '../store/put-file.ts'
import type { ObjectStore } from '../store/store.ts'
import { type Hint, writeHint } from './latest.ts'
import type { WholeCheckpoint } from './list.ts'
import { type CheckpointFile, checkpointName, fileKey } from './names.ts'
import { type CheckpointState, encodeState, type FileFacts } from './state.ts'
import { modelTensors, nonFiniteTensors, optimizerTensors, type TrainingState } from './tensors.ts'

/** Without it, Hugging Face's readers refuse a file. */
const readByOthers = { format: 'pt' }

/** As which save, when, and in which parts. */
export interface SaveOptions {
  /** From `newWriterId`, for this save alone: whatever is in the store is never written over. */
  readonly writer: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly sizes?: PartSizes
  readonly signal?: AbortSignal
  /** Told where the hint could not be written, which nothing depends on. */
  readonly unhinted?: (error: Failure) => void
}

/**
 * Sends the state as it lies in memory, which nobody may change meanwhile; beside it there are a
 * few parts in flight.
 *
 * @throws  Failure `invalid`: it holds NaN or infinity, and would take the place of one to go on
 *          from; else as the store throws it. What was sent of it is half, and chosen by nobody.
 */
export async function saveCheckpoint(
  store: ObjectStore,
  { progress, tensors, maps }: TrainingState,
  options: SaveOptions,
): Promise<WholeCheckpoint> {
  const { writer, now } = options
  const { step, training } = progress
  await requireFinite(step, tensors)
  const name = checkpointName({ step, writer })
  const put = (file: CheckpointFile, parts: readonly Uint8Array[]) =>
    putParts(store, { key: fileKey(name, file), parts }, options)
  const metadata = { ...readByOthers, step: String(step) }
  const model = await put('model', encodeSafetensors(modelTensors(tensors, maps), metadata))
  probe('checkpoint.model-put')
  const optimizer = await put('optimizer', encodeSafetensors(optimizerTensors(tensors), metadata))
  probe('checkpoint.optimizer-put')
  const savedAt = new Date(now).toISOString()
  const state: CheckpointState = { format: 1, ...progress, savedAt, files: { model, optimizer } }
  await put('state', [encodeState(state)])
  probe('checkpoint.state-put')
  await tellHint(store, { name, training, step, savedAt }, options)
  probe('checkpoint.hint-put')
  return { name, step, writer, state }
}

async function putParts(
  store: ObjectStore,
  { key, parts }: { readonly key: string; readonly parts: readonly Uint8Array[] },
  options: SaveOptions,
): Promise<FileFacts> {
  const { sizes, signal } = options
  let [bytes, crc] = [0, 0]
  for (const part of parts) {
    crc = crc32(part, crc)
    bytes += part.length
    await turn()
  }
  const body = { pieces: parts, length: bytes }
  await putFile(store, { key, body, crc32: crc }, { ...(sizes && { sizes }), signal })
  return { bytes, crc32: crc }
}

/** A tensor at a time: the thread shows life meanwhile. */
async function requireFinite(step: number, tensors: TrainingState['tensors']): Promise<void> {
  const bad: string[] = []
  for (const tensor of tensors) {
    bad.push(...nonFiniteTensors([tensor]))
    await turn()
  }
  if (bad.length === 0) return
  const facts = `step=${step}, tensors=${bad.join(', ')}`
  throw new Failure(
    'invalid',
    `what was trained holds NaN or infinity: it is not saved. ${facts}`,
    {
      remedy: 'Go on from the last checkpoint with a lower learning rate, and look at the data.',
    },
  )
}

async function tellHint(store: ObjectStore, hint: Hint, { unhinted }: SaveOptions): Promise<void> {
  try {
    await writeHint(store, hint)
  } catch (error) {
    if (!isFailure(error)) throw error
    unhinted?.(error)
  }
}
