/**
 * A Hugging Face dataset directory, as `save_to_disk` lays it out: which files make up the dataset.
 * Trusts none of the names it finds, and reads no shard.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import { Failure } from '../failure.ts'
import { near } from '../near.ts'

export interface DatasetFiles {
  /** What to open below a copied root: `.`, or the name of the one file. */
  readonly entry: string
  /** state.json and dataset_info.json, where there are any. */
  readonly descriptions: readonly string[]
  /** In the order of their rows. */
  readonly shards: readonly string[]
  readonly root: string
}

const stateJson = z.object({
  _data_files: z.array(z.object({ filename: z.string().min(1) })),
  _split: z.string().nullish(),
})
const datasetDictJson = z.object({ splits: z.array(z.string().min(1)) })
const datasetInfoJson = z.looseObject({})

const saveAgain = 'Save the dataset again with `save_to_disk`, or copy it again whole.'

/**
 * @param path   a dataset's directory, a DatasetDict's, or one Arrow stream file
 * @param split  which of a DatasetDict's datasets; null where there is but one
 * @throws Failure `invalid`: no dataset, no such split, a missing or misplaced shard, bad JSON
 */
export function findDatasetFiles(path: string, split: string | null): DatasetFiles {
  if (isFile(path)) {
    return { entry: basename(path), descriptions: [], shards: [path], root: join(path, '..') }
  }
  if (!existsSync(path)) {
    throw new Failure('invalid', `there is no dataset here. path=${path}`, {
      remedy: 'Check dataset.path.',
    })
  }
  if (existsSync(join(path, 'dataset_dict.json'))) {
    return datasetDirectory(splitDirectory(path, split), null)
  }
  return datasetDirectory(path, split)
}

function splitDirectory(path: string, split: string | null): string {
  const file = join(path, 'dataset_dict.json')
  const { splits } = readJson(file, datasetDictJson)
  const remedy = 'Name one of its splits under dataset.split.'
  if (split === null) {
    throw new Failure(
      'invalid',
      `the dataset has splits, and none is named. path=${path}, found=${splits.join(' ')}`,
      { remedy },
    )
  }
  if (!splits.includes(split)) {
    const guess = near(split, splits)
    const nearest = guess === undefined ? '' : ` Nearest: ${guess}.`
    throw new Failure(
      'invalid',
      `the dataset has no such split. path=${path}, want=${split}, found=${splits.join(' ')}`,
      { remedy: `${remedy}${nearest}` },
    )
  }
  return inside(path, split, file)
}

function datasetDirectory(root: string, split: string | null): DatasetFiles {
  const descriptions = ['state.json', 'dataset_info.json'].map((name) => join(root, name))
  for (const file of descriptions) {
    if (isFile(file)) continue
    throw new Failure(
      'invalid',
      `not a dataset's directory: a file is missing. path=${root}, want=${basename(file)}`,
      { remedy: 'Name a directory that `save_to_disk` wrote, or one Arrow stream file.' },
    )
  }
  readJson(join(root, 'dataset_info.json'), datasetInfoJson)
  const stateFile = join(root, 'state.json')
  const state = readJson(stateFile, stateJson)
  if (split !== null && state._split && state._split !== split) {
    throw new Failure(
      'invalid',
      `the dataset is another split. path=${root}, want=${split}, found=${state._split}`,
      { remedy: 'Name the directory of the wanted split, or its split under dataset.split.' },
    )
  }
  const shards = state._data_files.map(({ filename }) => inside(root, filename, stateFile))
  for (const shard of shards) {
    if (isFile(shard)) continue
    throw new Failure(
      'invalid',
      `a shard that state.json names is missing. path=${root}, want=${relative(root, shard)}`,
      { remedy: saveAgain },
    )
  }
  return { entry: '.', descriptions, shards, root }
}

/** The path that `name` means below `root`. A description may not reach for files elsewhere. */
function inside(root: string, name: string, namedBy: string): string {
  const path = join(root, name)
  const below = resolve(path).startsWith(`${resolve(root)}${sep}`)
  if (below && resolve(root, name) === resolve(path)) return path
  throw new Failure(
    'invalid',
    `a dataset names a file outside its directory. file=${namedBy}, found=${name}`,
    { remedy: saveAgain },
  )
}

function readJson<T>(file: string, shape: z.ZodType<T>): T {
  try {
    return shape.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new Failure('invalid', `a dataset's description cannot be read. file=${file}`, {
      remedy: saveAgain,
      cause,
    })
  }
}

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true
