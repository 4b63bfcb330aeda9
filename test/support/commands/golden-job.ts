import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { golden } from '../golden.ts'

/** Configurations of the small golden job, and what lies in a folder before and after it. */

type Section = Readonly<Record<string, unknown>>

export interface JobSettings {
  readonly store?: string
  readonly s3?: Section
  readonly work?: string
  readonly dataset?: Section
  readonly target?: Section
  readonly extract?: Section
  readonly commit?: Section
  readonly train?: Section
  readonly monitor?: { readonly port: number }
}

export const goldenDataset = golden('extract', 'dataset')
export const goldenTarget = (name = 'qwen3_tied_bf16'): string => golden('targets', name)

/** A folder that goes when the tests are over. */
export function folder(t: { after(fn: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-command-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

export const fileUrl = (...parts: string[]): string => pathToFileURL(join(...parts)).href

/** Writes `<dir>/<name>.json`, whose work folder and store lie below `<dir>/<name>`. */
export function writeConfig(dir: string, name: string, settings: JobSettings = {}): string {
  const path = join(dir, `${name}.json`)
  const config = {
    store: fileUrl(dir, name, 'store'),
    work: join(dir, name, 'work'),
    ...settings,
    dataset: { path: goldenDataset, ...settings.dataset },
    target: { path: goldenTarget(), layers: [0, 1, 2, 3, 4], ...settings.target },
    extract: { dtype: 'f32', tokenBudget: 64, maxTokens: 512, ...settings.extract },
    spool: { keepFree: '1MB', maxBytes: '20MB' },
  }
  mkdirSync(dir, { recursive: true })
  writeFileSync(path, JSON.stringify(config))
  return path
}

/** Path → SHA-256 of every file below, in order; nothing where there is no folder. */
export function listing(dir: string): Readonly<Record<string, string>> {
  const files = filesBelow(dir).map((path) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(dir, path)))
      .digest('hex')
    return [path, digest] as const
  })
  return Object.fromEntries(files)
}

export function filesBelow(dir: string): string[] {
  try {
    return readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
      .sort()
  } catch {
    return []
  }
}
