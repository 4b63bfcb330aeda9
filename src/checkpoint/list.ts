/** What lies under `checkpoints/`, and which of it is whole as far as a listing tells. */
import { explain, isFailure } from '../failure.ts'
import type { ObjectInfo, ObjectStore } from '../store/store.ts'
import {
  type CheckpointFile,
  type CheckpointName,
  checkpointFiles,
  checkpointsPrefix,
  compareCheckpoints,
  fileKey,
  parseCheckpointName,
} from './names.ts'
import { type CheckpointState, parseState } from './state.ts'

/** One save's folder, whatever is in it. */
export interface CheckpointFolder extends CheckpointName {
  readonly name: string
  readonly objects: readonly ObjectInfo[]
}

/** Its state is there, and its files have the sizes that the state tells. */
export interface WholeCheckpoint extends CheckpointName {
  readonly name: string
  readonly state: CheckpointState
}

/** The latest last. What no checkpointer has named is left out. */
export async function listCheckpoints(store: ObjectStore): Promise<CheckpointFolder[]> {
  const folders = new Map<string, CheckpointFolder & { readonly objects: ObjectInfo[] }>()
  for await (const object of store.list(checkpointsPrefix)) {
    const [name, ...rest] = object.key.slice(checkpointsPrefix.length).split('/')
    const parsed = name === undefined ? undefined : parseCheckpointName(name)
    if (name === undefined || rest.length === 0 || !parsed) continue
    const folder = folders.get(name) ?? { ...parsed, name, objects: [] }
    folder.objects.push(object)
    folders.set(name, folder)
  }
  return [...folders.values()].sort(compareCheckpoints)
}

/** A folder of this name, as the store tells of its files one by one: its list may be late. */
export async function askForCheckpoint(
  store: ObjectStore,
  name: string,
): Promise<CheckpointFolder | undefined> {
  const keys = Object.keys(checkpointFiles).map((file) => fileKey(name, file as CheckpointFile))
  const found = await Promise.all(keys.map((key) => store.head(key)))
  const objects = found.flatMap((info) => info ?? [])
  const named = parseCheckpointName(name) ?? { step: 0, writer: '' }
  return objects.length === 0 ? undefined : { ...named, name, objects }
}

/** Why a folder holds no checkpoint. */
export interface Half {
  readonly name: string
  readonly why: string
}

export const isHalf = (found: WholeCheckpoint | Half): found is Half => 'why' in found

/**
 * Reads the state of a folder, and compares sizes; no byte of its tensors is read.
 *
 * @throws  Failure `invalid`: it is of another version
 */
export async function lookInto(
  store: ObjectStore,
  folder: CheckpointFolder,
): Promise<WholeCheckpoint | Half> {
  const { name, step, writer } = folder
  const sizes = new Map(folder.objects.map(({ key, size }) => [key, size]))
  if (!sizes.has(fileKey(name, 'state'))) return { name, why: 'it has no state.json' }
  const state = await stateOf(store, name)
  if (typeof state === 'string') return { name, why: state }
  for (const file of ['model', 'optimizer'] as const) {
    const [want, found] = [state.files[file].bytes, sizes.get(fileKey(name, file))]
    if (found === want) continue
    const facts = `want=${want} bytes, found=${found ?? 'none'}`
    return { name, why: `its ${checkpointFiles[file]} is not what was saved: ${facts}` }
  }
  if (writer !== '' && state.step !== step) {
    return { name, why: `its state.json is of another step: want=${step}, found=${state.step}` }
  }
  return { name, step: state.step, writer, state }
}

/** A text says why there is none. */
async function stateOf(store: ObjectStore, name: string): Promise<CheckpointState | string> {
  const bytes = await store.get(fileKey(name, 'state'))
  if (!bytes) return 'its state.json went away'
  try {
    return parseState(bytes, name)
  } catch (error) {
    if (isFailure(error, 'corrupt')) return explain(error)
    throw error
  }
}
