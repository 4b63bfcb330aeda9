/** Whose export a folder holds: written first, so that one that was cut short goes on. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Failure } from '../failure.ts'
import { makeFolder } from '../new-folder.ts'
import { namesIn, otherContent } from './folder.ts'

const markerName = 'draftsmith-export.json'

const markerSchema = z.object({
  format: z.literal(1),
  /** Of the run whose samples these are. */
  run: z.string(),
  /** Of `datasetFingerprint`: file N is of its row N. */
  dataset: z.string(),
  /** What the last of a sample's states is: as it was stored, or turned back. */
  lastState: z.string(),
})

/** What a folder is to hold; one of another is not gone on with. */
export type Marker = Omit<z.output<typeof markerSchema>, 'format'>

/**
 * Makes the folder, or goes on with it.
 *
 * @param options.overwrite  go on where other content lies
 * @param options.removeOld  what may be mistaken for a part of this export: called before it begins
 * @throws                   Failure `invalid`: it holds other content, which is not touched
 */
export async function claimFolder(
  dir: string,
  marker: Marker,
  options: {
    readonly overwrite: boolean
    readonly removeOld: (of: 'an export' | 'others') => Promise<void>
  },
): Promise<void> {
  // What was cut short before it had a marker holds nothing.
  const there = (await namesIn(dir)).filter((name) => name !== `${markerName}.partial`)
  const found = there.length > 0 ? await markerIn(dir) : undefined
  const differing = found ? differences(found, marker) : there
  if (found && differing.length === 0) return
  if (there.length > 0 && !options.overwrite) {
    throw found ? ofAnother(dir, differing) : otherContent(dir, there)
  }
  await makeFolder(dir)
  const path = join(dir, markerName)
  await rm(path, { force: true })
  if (there.length > 0) await options.removeOld(found ? 'an export' : 'others')
  await writeFile(`${path}.partial`, `${JSON.stringify({ format: 1, ...marker }, null, 2)}\n`)
  await rename(`${path}.partial`, path)
}

/** Undefined where there is none that can be read. */
async function markerIn(dir: string): Promise<Marker | undefined> {
  try {
    return markerSchema.parse(JSON.parse(await readFile(join(dir, markerName), 'utf8')))
  } catch {
    return undefined
  }
}

const differences = (found: Marker, wanted: Marker): string[] =>
  (['run', 'dataset', 'lastState'] as const)
    .filter((key) => found[key] !== wanted[key])
    .map((key) => `${key}: folder=${found[key]}, now=${wanted[key]}`)

const ofAnother = (dir: string, differing: readonly string[]): Failure =>
  new Failure(
    'invalid',
    [`the folder holds another export. dir=${dir}`, ...differing].join('\n  '),
    { remedy: 'Name a new folder, or give --overwrite: what it holds of that export is removed.' },
  )
