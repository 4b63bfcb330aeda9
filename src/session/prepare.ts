/**
 * A model's folder: the graph as model.onnx beside its weights, which are hard links to the real
 * files, since onnxruntime refuses absolute, parent and symlinked paths. Any number of threads and
 * processes may prepare one folder at once, with the same graph.
 */
import { randomBytes } from 'node:crypto'
import {
  copyFile,
  link,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, wallClock } from '../clock.ts'
import { Failure, hasCode } from '../failure.ts'
import { encodeGraph } from '../graph/encode.ts'
import type { Graph } from '../graph/graph.ts'
import { syncFile } from '../lasting.ts'
import { makeFolder } from '../new-folder.ts'
import { withholdOutputs } from './withheld-output.ts'

const temporaryEnding = '.tmp'
/** A copy that has not changed for so long has nobody who makes it. */
const abandonedMs = 60_000

/** A weights file that cannot be linked: on another filesystem, or another user's. */
export interface Copied {
  readonly path: string
  readonly bytes: number
}

/** Another filesystem; a file that only its owner may link, or a filesystem without links. */
const unlinkable = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP']

/**
 * @param dir       made where it is not there
 * @param onCopy    told before a file is copied, which takes its size on disk
 * @returns         the path of model.onnx, whole and with its weights in place
 * @throws          Failure `invalid`: the folder cannot be made or written
 */
export async function prepareModel(
  graph: Graph,
  dir: string,
  onCopy: (copied: Copied) => void,
  clock: Clock = wallClock,
): Promise<string> {
  const files = new Map<string, string>()
  for (const { data } of graph.initializers) {
    if (!(data instanceof Uint8Array)) files.set(data.name, data.path)
  }
  try {
    await makeFolder(dir)
    await sweep(dir, clock)
    for (const [name, path] of files) await placeWeights(path, join(dir, name), onCopy)
    const model = join(dir, 'model.onnx')
    await placeModel(withholdOutputs(encodeGraph(graph)), model)
    return model
  } catch (cause) {
    throw new Failure('invalid', `model cannot be laid out for onnxruntime. dir=${dir}`, {
      remedy: 'See that the work folder can be written and has room for the weights.',
      cause,
    })
  }
}

/**
 * Removes what a start left half-copied: as large as the weights, and of use to nobody. By the time
 * of change, which a link or a copied time does not carry along; a copy under way changes.
 */
async function sweep(dir: string, clock: Clock): Promise<void> {
  for (const name of await readdir(dir)) {
    if (!name.endsWith(temporaryEnding)) continue
    const path = join(dir, name)
    const found = await statIfThere(path)
    if (found && clock.now() - found.ctimeMs > abandonedMs) await rm(path, { force: true })
  }
}

async function placeWeights(
  source: string,
  path: string,
  onCopy: (copied: Copied) => void,
): Promise<void> {
  const want = await stat(source)
  const found = await statIfThere(path)
  const same =
    found &&
    ((found.ino === want.ino && found.dev === want.dev) ||
      // A copy: it was given its source's time, since hashing it would cost as much as making it.
      (found.size === want.size && sameMoment(found.mtime, want.mtime)))
  if (same) return
  await replace(path, async (temporary) => {
    try {
      await link(source, temporary)
    } catch (error) {
      if (!hasCode(error, ...unlinkable)) throw error
      onCopy({ path: source, bytes: want.size })
      await copyFile(source, temporary)
      await utimes(temporary, want.atime, want.mtime)
      // It is taken for whole by its size and time: a loss of power must not leave zeros of both.
      await syncFile(temporary)
    }
  })
}

async function placeModel(bytes: Uint8Array, path: string): Promise<void> {
  const found = (await statIfThere(path)) && (await readFile(path))
  if (found?.equals(bytes)) return
  await replace(path, (temporary) => writeFile(temporary, bytes))
}

/** Whoever looks sees the old file or the new one, whole; the last of several writers stays. */
async function replace(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}${temporaryEnding}`
  try {
    await make(temporary)
    await rename(temporary, path)
  } finally {
    // Also where the rename was told to replace a link by another to the same file: it then leaves
    // both.
    await rm(temporary, { force: true })
  }
}

/** As closely as `utimes` sets it. */
const sameMoment = (a: Date, b: Date): boolean => a.getTime() === b.getTime()

async function statIfThere(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}
