/**
 * A checkpoint's weights: which tensor lies where, in one file or in shards. Reads headers only;
 * the bytes are onnxruntime's to read.
 */
import { readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { explain, Failure, hasCode } from '../failure.ts'
import type { TensorInfo } from '../safetensors/header.ts'
import { openSafetensors, type SafetensorsFile } from '../safetensors/read.ts'

/** One of a checkpoint's safetensors files. */
export interface WeightsFile extends SafetensorsFile {
  /** Its name in the checkpoint directory; `path` is where it really lies, symlinks followed. */
  readonly name: string
}

interface Weight extends TensorInfo {
  readonly file: WeightsFile
}

/** Where each tensor of a checkpoint lies. */
export interface Weights {
  readonly dir: string
  readonly files: readonly WeightsFile[]
  readonly tensors: ReadonlyMap<string, Weight>
}

const singleFile = 'model.safetensors'
const indexFile = 'model.safetensors.index.json'
const downloadAgain = 'Download the checkpoint again, or set target.path to a complete one.'

/** A shard lies in the directory itself: a name that leads elsewhere is refused. */
const shardName = z
  .string()
  .regex(/^[^/\\]+\.safetensors$/, 'not the plain name of a safetensors file')
const indexSchema = z.object({ weight_map: z.record(z.string(), shardName) })

/**
 * @throws  Failure `invalid`: no safetensors files there, or a shard is missing; `corrupt`: a file
 *          is truncated or malformed, or a shard lacks what the index says it has. Names the file
 */
export async function openWeights(dir: string): Promise<Weights> {
  if (await exists(join(dir, singleFile))) {
    const file = await openFile(dir, singleFile)
    return { dir, files: [file], tensors: tensorsOf(file, [...file.tensors.keys()]) }
  }
  if (!(await exists(join(dir, indexFile)))) {
    throw new Failure(
      'invalid',
      `no weights in the checkpoint. dir=${dir}, want=${singleFile} or ${indexFile}`,
      { remedy: 'Only safetensors checkpoints are read; convert a .bin one with transformers.' },
    )
  }
  const shards = await readIndex(join(dir, indexFile))
  const files: WeightsFile[] = []
  const tensors = new Map<string, Weight>()
  for (const [name, wanted] of shards) {
    const file = await openFile(dir, name)
    files.push(file)
    for (const [tensor, weight] of tensorsOf(file, wanted)) tensors.set(tensor, weight)
  }
  return { dir, files, tensors }
}

/** Shard → the tensors that the index says are in it; shards in order of their names. */
async function readIndex(path: string): Promise<[shard: string, tensors: string[]][]> {
  let map: Record<string, string>
  try {
    map = indexSchema.parse(JSON.parse(await readFile(path, 'utf8'))).weight_map
  } catch (cause) {
    throw new Failure('corrupt', `weights index is malformed. file=${path}`, {
      remedy: downloadAgain,
      cause: cause instanceof z.ZodError ? new Error(z.prettifyError(cause)) : cause,
    })
  }
  const shards = new Map<string, string[]>()
  for (const [tensor, shard] of Object.entries(map)) {
    shards.set(shard, [...(shards.get(shard) ?? []), tensor])
  }
  return [...shards].sort(([a], [b]) => (a < b ? -1 : 1))
}

async function openFile(dir: string, name: string): Promise<WeightsFile> {
  const path = join(dir, name)
  try {
    // Hugging Face's cache is made of symlinks, and onnxruntime takes none.
    const file = await openSafetensors(await realpath(path))
    return { ...file, name }
  } catch (cause) {
    const kind = cause instanceof Failure ? cause.kind : 'invalid'
    throw new Failure(kind, `weights file cannot be used. file=${path}`, {
      remedy: downloadAgain,
      cause,
    })
  }
}

function tensorsOf(file: WeightsFile, names: readonly string[]): Map<string, Weight> {
  const tensors = new Map<string, Weight>()
  for (const name of names) {
    const info = file.tensors.get(name)
    if (!info) {
      throw new Failure(
        'corrupt',
        `a shard lacks a tensor that the index places in it. file=${file.path}, tensor=${name}`,
        { remedy: downloadAgain },
      )
    }
    tensors.set(name, { ...info, file })
  }
  return tensors
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw new Failure('invalid', `checkpoint cannot be read. path=${path}, ${explain(error)}`)
  }
}
