import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A folder that goes when its test ends. */
export function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-spool-'))
  t.after(() => rmSync(dir, { recursive: true }))
  return dir
}
