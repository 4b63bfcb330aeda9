import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { requireFolder } from '../preflight.ts'

/**
 * Where a benchmark works. A folder that is named keeps what is dear to make, for the next time;
 * without one it is a temporary folder, which goes however the process ends.
 */
export function benchFolder(named: string | undefined): { readonly path: string } & Disposable {
  if (named !== undefined) {
    const path = resolve(named)
    requireFolder(path)
    return { path, [Symbol.dispose]: () => undefined }
  }
  const path = mkdtempSync(join(tmpdir(), 'draftsmith-bench-'))
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
