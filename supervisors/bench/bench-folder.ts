import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { requireFolder } from '../run/preflight.ts'

/** A file system in memory, where Linux has one. */
const memory = '/dev/shm'

/**
 * Where a benchmark works. A folder that is named keeps what is dear to make, for the next time;
 * without one it is a temporary folder, which goes however the process ends.
 *
 * @param where  `memory`: a temporary folder lies there, where there is such a file system
 */
export function benchFolder(
  named: string | undefined,
  where: 'memory' | 'disk' = 'disk',
): { readonly path: string } & Disposable {
  if (named !== undefined) {
    const path = resolve(named)
    requireFolder(path)
    return { path, [Symbol.dispose]: () => undefined }
  }
  const path = mkdtempSync(
    join(where === 'memory' ? memoryFolder() : tmpdir(), 'draftsmith-bench-'),
  )
  // A process that was just killed may still write into it.
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 10 })
  process.once('exit', remove)
  return {
    path,
    [Symbol.dispose]: () => {
      process.removeListener('exit', remove)
      remove()
    },
  }
}

function memoryFolder(): string {
  try {
    accessSync(memory, constants.W_OK)
    return memory
  } catch {
    return tmpdir()
  }
}
