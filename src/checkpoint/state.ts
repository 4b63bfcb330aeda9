/** `state.json`: what a training needs beside its tensors to go on bit for bit, and their files. */
import { z } from 'zod'
import { Failure } from '../failure.ts'

const count = z.number().int().nonnegative()
/** Of whoever owns it: it is kept, and looked into by nobody here. */
const owned = z.json()

const progressSchema = z.object({
  /** Of the training: made when it starts, kept when it resumes. */
  training: z.string().min(1),
  /** Optimizer steps that were done. */
  step: count,
  /** Seen since the first step, each as often as it was seen. */
  samples: count,
  tokens: count,
  /** What the best checkpoint is told by; null where it was not measured. */
  heldOutLoss: z.number().nullable(),
  /** The simulated acceptance length on held-out samples. */
  tau: z.number().nullable(),
  /** The drafter's config.json. */
  drafter: z.record(z.string(), owned),
  /** Whose drafter it is: the target's fingerprint, and what was captured of it. */
  target: z.record(z.string(), owned),
  /** Settings of the learning rate, of clipping and decay. */
  schedule: owned,
  /** Where the data stands: plan number, epoch, order; and how it was split. */
  data: owned,
  /** Seeds and states of what chooses by chance. */
  random: owned,
})

const fileSchema = z.object({ bytes: count, crc32: count })

const stateSchema = progressSchema.extend({
  format: z.literal(1),
  savedAt: z.iso.datetime(),
  files: z.object({ model: fileSchema, optimizer: fileSchema }),
})

/** How far a training is, and what it must be told to go on from there. */
export type TrainingProgress = z.output<typeof progressSchema>
/** Size in bytes, and the CRC-32 of all of them. */
export type FileFacts = z.output<typeof fileSchema>
/** `state.json`, as it is written last. */
export type CheckpointState = z.output<typeof stateSchema>

export type Json = z.output<ReturnType<typeof z.json>>

export const encodeState = (state: CheckpointState): Buffer =>
  Buffer.from(`${JSON.stringify(stateSchema.parse(state), null, 1)}\n`)

/**
 * @param where  the checkpoint, for messages
 * @throws       Failure `corrupt`: it is no state.json, or not all of one; `invalid`: it is of
 *               another version
 */
export function parseState(bytes: Uint8Array, where: string): CheckpointState {
  const json = jsonOf(bytes, where)
  const format = z.object({ format: z.number() }).safeParse(json)
  if (format.success && format.data.format !== 1) throw ofAnotherVersion(where, format.data.format)
  const parsed = stateSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw notAState(where, new Error(faults.join('; ')))
}

/** What of a state is the training's own. */
export const progressOf = (state: CheckpointState): TrainingProgress => progressSchema.parse(state)

function jsonOf(bytes: Uint8Array, where: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch (cause) {
    throw notAState(where, cause)
  }
}

const notAState = (where: string, cause: unknown): Failure =>
  new Failure('corrupt', `state.json of a checkpoint cannot be read. checkpoint=${where}`, {
    cause,
    remedy: 'Go on from another checkpoint.',
  })

const ofAnotherVersion = (where: string, format: number): Failure =>
  new Failure(
    'invalid',
    `checkpoint is of another version. checkpoint=${where}, want=1, found=${format}`,
    { remedy: 'Use the version of Draftsmith that wrote it; nothing was changed.' },
  )
