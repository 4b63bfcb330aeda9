import { access, readdir, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SIDE_FOLDER } from '../../src/store/keys.ts'

/**
 * What looking at a folder's store leaves there: empty folders, for a store of files needs some.
 *
 * @returns  removes those of them that are not there yet, unless something has come into them
 */
export async function tracesIn(storeUrl: string): Promise<() => Promise<void>> {
  if (!storeUrl.startsWith('file:')) return async () => undefined
  const root = fileURLToPath(storeUrl)
  const side = join(root, SIDE_FOLDER)
  const above: string[] = []
  for (let at = root; !(await isThere(at)); at = dirname(at)) above.push(at)
  const sideIsNew = !(await isThere(side))
  const own = [...(sideIsNew ? [side] : []), ...above]
  return async () => {
    const inside = sideIsNew ? await readdir(side).catch(() => []) : []
    for (const name of inside) await removeIfEmpty(join(side, name))
    for (const path of own) await removeIfEmpty(path)
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** It stays where it is not empty, or not to be removed. */
const removeIfEmpty = (path: string): Promise<void> => rmdir(path).catch(() => undefined)
