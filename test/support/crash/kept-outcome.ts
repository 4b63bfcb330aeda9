import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deserialize, serialize } from 'node:v8'
import { hasCode } from '../../../src/failure.ts'
import type { Stored } from '../../../supervisors/drills/rig/stored.ts'
import { projectRoot } from '../golden.ts'

/**
 * What a job comes to is found out once for all test files: it is kept beside the compiled tests,
 * under a name that changes with the program and its packages, with what lays jobs out, and with
 * the kind of CPU.
 */

const folder = join(projectRoot, 'build', 'outcomes')
const sources = [join(projectRoot, 'dist'), fileURLToPath(new URL('..', import.meta.url))]

/** @param find  is asked where nothing is kept yet */
export async function keptOutcome(job: string, find: () => Promise<Stored>): Promise<Stored> {
  const path = join(folder, `${fingerprint(job)}.bin`)
  const kept = read(path)
  if (kept) return kept
  const found = await find()
  mkdirSync(folder, { recursive: true })
  // Another file's tests may find out the same at this moment.
  const own = `${path}.${process.pid}`
  writeFileSync(own, serialize(found))
  renameSync(own, path)
  return found
}

function read(path: string): Stored | undefined {
  try {
    // Of this very type: the name holds a hash of the code that wrote it.
    return deserialize(readFileSync(path)) as Stored
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function fingerprint(job: string): string {
  const hash = createHash('sha256').update(JSON.stringify([job, process.version, cpus()[0]?.model]))
  // What computes is a package, of which the program has no code.
  hash.update(readFileSync(join(projectRoot, 'package-lock.json')))
  for (const source of sources) {
    const names = readdirSync(source, { recursive: true, encoding: 'utf8' })
    for (const name of names.filter((path) => path.endsWith('.js')).sort()) {
      hash.update(name).update(readFileSync(join(source, name)))
    }
  }
  return hash.digest('hex').slice(0, 32)
}
