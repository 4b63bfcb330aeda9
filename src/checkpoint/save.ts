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
  state: TrainingState,
  options: SaveOptions,
): Promise<WholeCheckpoint> {
  const { writer, now } = options
  const { progress, tensors, maps } = state
  const { step, training } = progress
  await requireFinite(state)
  const name = checkpointName({ step, writer })
  const put = (file: CheckpointFile, parts: readonly Uint8Array[]) =>
    putParts(store, { key: fileKey(name, file), parts }, options)
  const metadata = { ...readByOthers, step: String(step) }
  const model = await put('model', encodeSafetensors(modelTensors(tensors, maps), metadata))
  probe('checkpoint.model-put')
  const optimizer = await put('optimizer', encodeSafetensors(optimizerTensors(tensors), metadata))
  probe('checkpoint.optimizer-put')
  const savedAt = new Date(now).toISOString()
  const kept: CheckpointState = { format: 1, ...progress, savedAt, files: { model, optimizer } }
  await put('state', [encodeState(kept)])
  probe('checkpoint.state-put')
  await tellHint(store, { name, training, step, savedAt }, options)
  probe('checkpoint.hint-put')
  return { name, step, writer, state: kept }
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

/**
 * A tensor at a time: the thread shows life meanwhile.
 *
 * @throws  Failure `invalid`: there is NaN or infinity among them; names the tensors
 */
export async function requireFinite({ progress, tensors }: TrainingState): Promise<void> {
  const { step } = progress
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
