import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { needs } from '../../support/needs.ts'

/** A folder that goes when its test ends. */
export function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-spool-'))
  t.after(() => rmSync(dir, { recursive: true }))
  return dir
}

/** Named pipes; false where they cannot be made, and the test is skipped. */
export function makePipes(t: TestContext, paths: readonly string[]): boolean {
  const mkfifo = needs(t, 'mkfifo')
  if (mkfifo) execFileSync(mkfifo, paths)
  return mkfifo !== undefined
}
