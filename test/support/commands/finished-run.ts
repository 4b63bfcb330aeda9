import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { openManifest } from '../../../src/manifest/log.ts'
import { newWriterId } from '../../../src/manifest/names.ts'
import { openStore } from '../../../src/store/open.ts'
import { HastyClock } from '../../src/store/hasty-clock.ts'
import { draftsmith } from './draftsmith.ts'
import { fileUrl, type JobSettings, writeConfig } from './golden-job.ts'

/** A finished run of several segments, in a folder; tests work on copies of it. */

export interface FinishedRun {
  /** Of its own store. */
  readonly path: string
  /** A store of this name, like the finished one: its folder and its URL. */
  copy(name: string): { readonly path: string; readonly url: string }
  /** A configuration whose store is the copy of this name. */
  configFor(name: string, settings?: JobSettings): string
}

const settings: JobSettings = { commit: { every: 3, seconds: 10 } }

/** A run of this name, from its beginning to its end. */
export async function runThrough(dir: string, name: string, of: JobSettings = {}): Promise<void> {
  const { code, stderr } = await draftsmith(['run', writeConfig(dir, name, of)], { dir })
  assert.equal(code, 0, stderr)
}

export async function finishedRun(dir: string): Promise<FinishedRun> {
  await runThrough(dir, 'whole', settings)
  return {
    path: join(dir, 'whole', 'store'),
    copy(name) {
      const path = join(dir, name, 'store')
      cpSync(join(dir, 'whole', 'store'), path, { recursive: true, preserveTimestamps: true })
      return { path, url: fileUrl(path) }
    },
    configFor: (name, other = {}) => writeConfig(dir, name, { ...settings, ...other }),
  }
}

/** The union of a store's manifest. */
export async function entriesIn(url: string): Promise<ManifestEntry[]> {
  const table = await (await manifestIn(url)).replay()
  return [...table.entries()].sort((a, b) => (a.hash < b.hash ? -1 : 1))
}

/** As another supervisor would have written it. */
export async function tellIn(url: string, entries: readonly ManifestEntry[]): Promise<void> {
  const manifest = await manifestIn(url)
  await manifest.replay()
  await manifest.append(entries)
}

const manifestIn = async (url: string) =>
  openManifest(await openStore(url), { writer: newWriterId(new HastyClock(), Math.random) })
