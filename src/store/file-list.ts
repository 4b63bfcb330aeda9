/** Keys under a folder in order of their bytes, one directory at a time. */
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../failure.ts'
import { compareKeys, SIDE_FOLDER } from './keys.ts'

/**
 * Every key that starts with `prefix` and comes after `after`. Folders that hold no such key are
 * not opened. The side folder is not part of the store.
 */
export function walkKeys(
  root: string,
  ask: { readonly prefix: string; readonly after?: string | undefined },
): AsyncGenerator<string> {
  const cut = ask.prefix.lastIndexOf('/') + 1
  return walk(root, ask.prefix.slice(0, cut), ask)
}

async function* walk(
  root: string,
  folder: string,
  ask: { readonly prefix: string; readonly after?: string | undefined },
): AsyncGenerator<string> {
  const { prefix, after } = ask
  for (const entry of await entriesOf(join(root, folder))) {
    const key = folder + entry
    const leadsThere = key.endsWith('/') && prefix.startsWith(key)
    if (key === `${SIDE_FOLDER}/` || !(key.startsWith(prefix) || leadsThere)) continue
    if (!key.endsWith('/')) {
      if (after === undefined || compareKeys(key, after) > 0) yield key
    } else if (after === undefined || after.startsWith(key) || compareKeys(key, after) > 0) {
      yield* walk(root, key, ask)
    }
  }
}

/** A folder's name is compared with the `/` that its keys go on with: `a.b` comes before `a/b`. */
async function entriesOf(path: string): Promise<string[]> {
  let entries: Dirent[]
  try {
    entries = await readdir(path, { withFileTypes: true })
  } catch (error) {
    // Nothing was stored yet, or it went away while listing.
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
  const names = entries
    .filter((entry) => entry.isFile() || entry.isDirectory() || entry.isSymbolicLink())
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
  return names.sort(compareKeys)
}
