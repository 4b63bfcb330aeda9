/** Names under `checkpoints/`: a folder for each save, of three files and what `eval` found. */
import { isWriterId } from '../manifest/names.ts'

export const checkpointsPrefix = 'checkpoints/'
/** Which one was saved last: a hint, for people and for stores that list late. */
export const latestKey = `${checkpointsPrefix}latest.json`

/** Whether a folder below `checkpoints/` can bear it, be it a checkpointer's or a person's. */
export const isFolderName = (name: string): boolean =>
  /^[^/\\\p{Cc}]+$/u.test(name) && name !== '.' && name !== '..'

/** In the order they are put: a checkpoint without its state is none. */
export const checkpointFiles = {
  model: 'model.safetensors',
  optimizer: 'optimizer.safetensors',
  state: 'state.json',
} as const

export type CheckpointFile = keyof typeof checkpointFiles

/** The step that a save is of, and the save's own id: no two saves share a folder. */
export interface CheckpointName {
  readonly step: number
  readonly writer: string
}

const namePattern = /^(\d{1,15})-(.+)$/

/** Such as `00001200-20261105t101112345z-9f3a2b1c0d4e`: people's tools sort by text. */
export const checkpointName = ({ step, writer }: CheckpointName): string =>
  `${String(step).padStart(8, '0')}-${writer}`

/** Undefined for a folder that no checkpointer makes. Steps are numbers, however padded. */
export function parseCheckpointName(name: string): CheckpointName | undefined {
  const match = namePattern.exec(name)
  if (!match?.[1] || !match[2] || !isWriterId(match[2])) return undefined
  return { step: Number(match[1]), writer: match[2] }
}

export const fileKey = (name: string, file: CheckpointFile): string =>
  `${checkpointsPrefix}${name}/${checkpointFiles[file]}`

/** What `eval` found of it, put after the save and, as a checkpoint goes, removed with it. */
export const evaluationKey = (name: string): string => `${checkpointsPrefix}${name}/eval.json`

/** The later last: by step, and of one step by the moment of the save, with which its id begins. */
export function compareCheckpoints(a: CheckpointName, b: CheckpointName): number {
  if (a.step !== b.step) return a.step - b.step
  return a.writer < b.writer ? -1 : a.writer > b.writer ? 1 : 0
}
