/**
 * Makes a folder and those that are missing above it, one by one. Not by Node's `recursive`, which
 * never returns where a file system takes no new folder and says ENOENT, as automounters and /proc
 * do (Node 20).
 */
import { mkdirSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode } from './failure.ts'

/**
 * @returns  the topmost folder that it made; undefined where none was missing
 * @throws   the system's error
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    return await makeOne(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
  const above = await makeFolder(dirname(path))
  const made = await makeOne(path)
  return above ?? made
}

async function makeOne(path: string): Promise<string | undefined> {
  try {
    await mkdir(path)
    return path
  } catch (error) {
    if (!isThere(error, path)) throw error
    return undefined
  }
}

/** The same, at once. */
export function makeFolderNow(path: string): void {
  try {
    makeOneNow(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    makeFolderNow(dirname(path))
    makeOneNow(path)
  }
}

function makeOneNow(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if (!isThere(error, path)) throw error
  }
}

const isThere = (error: unknown, path: string): boolean =>
  hasCode(error, 'EEXIST') && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
