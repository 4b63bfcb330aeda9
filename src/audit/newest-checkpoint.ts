/** Whether the checkpoint that a training would go on from is what was saved. */
import { readHint } from '../checkpoint/latest.ts'
import type { WholeCheckpoint } from '../checkpoint/list.ts'
import { checkpointFiles, fileKey } from '../checkpoint/names.ts'
import { faultOf, newestFirst } from '../checkpoint/restore.ts'
import type { ObjectStore } from '../store/store.ts'

export interface NewestCheckpoint {
  readonly name: string
  readonly step: number
  /** What was compared beside sizes. `none`: the store tells no checksums, no byte was read. */
  readonly by: 'every byte' | 'the checksums that the store tells' | 'none'
  /** What is wrong with it; null where nothing is. */
  readonly problem: string | null
  /** Folders that hold no complete one, and are passed over. */
  readonly half: number
}

/**
 * Of the training that was saved last; of all, where no hint tells which that is.
 *
 * @param deep  reads every byte
 * @returns     null: there is none, be they half or not there at all
 */
export async function checkNewest(
  store: ObjectStore,
  { deep }: { readonly deep: boolean },
): Promise<NewestCheckpoint | null> {
  const training = (await readHint(store))?.training
  let half = 0
  const which = { ...(training !== undefined && { training }), onHalf: () => half++ }
  let newest: WholeCheckpoint | undefined
  for await (const checkpoint of newestFirst(store, which)) newest ??= checkpoint
  if (!newest) return null
  const { name, step } = newest
  const { by, problem } = deep
    ? { by: 'every byte' as const, problem: await faultOf(store, newest) }
    : await askChecksums(store, newest)
  return { name, step, by, problem, half }
}

async function askChecksums(
  store: ObjectStore,
  { name, state }: WholeCheckpoint,
): Promise<Pick<NewestCheckpoint, 'by' | 'problem'>> {
  let by: NewestCheckpoint['by'] = 'the checksums that the store tells'
  for (const file of ['model', 'optimizer'] as const) {
    const { crc32: want } = state.files[file]
    const found = (await store.head(fileKey(name, file)))?.crc32
    if (found === undefined) by = 'none'
    else if (found !== want) {
      return { by, problem: `${checkpointFiles[file]}: crc32: want=${want}, found=${found}` }
    }
  }
  return { by, problem: null }
}
