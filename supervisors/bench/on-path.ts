import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A tool's path, where it is on the PATH. */
export function onPath(tool: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, tool)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
