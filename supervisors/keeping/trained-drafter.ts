import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readHint } from '../../src/checkpoint/latest.ts'
import type { WholeCheckpoint } from '../../src/checkpoint/list.ts'
import { fileKey } from '../../src/checkpoint/names.ts'
import { readTensors } from '../../src/checkpoint/read-tensors.ts'
import { newestFirst } from '../../src/checkpoint/restore.ts'
import { drafterFiles } from '../../src/export/drafter-files.ts'
import { writeFolder } from '../../src/export/folder.ts'
import { Failure, isFailure } from '../../src/failure.ts'
import type { ObjectStore } from '../../src/store/store.ts'

/** A drafter that was trained into a store, as a folder on this machine. */

export interface TrainedDrafter {
  /** As z-lab publishes drafters. */
  readonly dir: string
  readonly checkpoint: WholeCheckpoint
}

/**
 * The newest complete checkpoint, of the training that was saved last. Laid out below `work`; what
 * lies there of an earlier time is not fetched again.
 *
 * @throws  Failure `invalid`: the store has no complete checkpoint
 */
export async function fetchTrainedDrafter(
  store: ObjectStore,
  work: string,
): Promise<TrainedDrafter> {
  const training = (await readHint(store))?.training
  const which = training === undefined ? {} : { training }
  for await (const checkpoint of newestFirst(store, which)) {
    const dir = join(work, 'drafters', checkpoint.name)
    try {
      if (!existsSync(join(dir, 'config.json'))) await layOut(store, checkpoint, dir)
      return { dir, checkpoint }
    } catch (error) {
      // Its bytes are not what was saved: the one before it may be whole.
      if (!isFailure(error, 'corrupt')) throw error
    }
  }
  throw new Failure('invalid', `the store has no complete checkpoint. store=${store.url}`, {
    remedy: 'Train a drafter first; or give one with --drafter, and prompts with --prompts.',
  })
}

/** As an export is written: whatever dies, the folder is a whole drafter or none. */
async function layOut(store: ObjectStore, at: WholeCheckpoint, dir: string): Promise<void> {
  const { files, drafter } = at.state
  const tensors = await readTensors(store, fileKey(at.name, 'model'), files.model)
  await writeFolder(dir, drafterFiles(drafter, tensors), { overwrite: true })
}
