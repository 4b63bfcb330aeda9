import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { diskFailure, ofWorkFolder } from '../disk-failure.ts'
import { hasCode } from '../failure.ts'

const toImport = {
  ...ofWorkFolder,
  refused: 'See that whoever runs this may read the folder, and all that is in it.',
}
const inOrder = new Intl.Collator('en', { numeric: true })

/**
 * The safetensors files in a folder and below, by their paths from there, numbers in the order of
 * counting. Links to files count as files; links to folders are not followed, for they may lead
 * back. Holds the names alone, some 100 bytes each.
 *
 * @throws  Failure `invalid`: a folder cannot be read
 */
export async function findFiles(dir: string): Promise<string[]> {
  const found: string[] = []
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await entriesOf(join(dir, folder))) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (!entry.name.endsWith('.safetensors')) continue
      else if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(join(dir, path))))) {
        found.push(path)
      }
    }
  }
  return found.sort(inOrder.compare)
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    const undone = { what: 'the folder to import cannot be read', path: folder }
    throw diskFailure(error, undone, toImport)
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    // A link that leads nowhere, or to itself.
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return false
    const undone = { what: 'a file to import cannot be looked at', path }
    throw diskFailure(error, undone, toImport)
  }
}

/** `hs_17.safetensors` was made of row 17 of some dataset: of ours, perhaps. */
export function guessedRow(path: string): number | undefined {
  const digits = /(?:^|\/)hs_(\d{1,9})\.safetensors$/.exec(path)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
