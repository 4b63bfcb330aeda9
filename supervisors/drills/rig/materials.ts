import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../../src/config/load.ts'
import type { Config } from '../../../src/config/schema.ts'
import { writeDemoDataset } from '../../../src/demo/dataset.ts'
import { writeDemoTarget } from '../../../src/demo/target.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Job } from './job.ts'
import { credentials, type S3Process } from './s3-process.ts'

/** What drills are made on: the demo's target and rows, or a user's own configuration. */
export interface Materials {
  readonly kind: 'demo' | 'own'
  /** All that drills lay out lies in it. */
  readonly dir: string
  /** Rows of the dataset that a job takes. */
  readonly rows: number
  /** Drills are made for more rows than these. */
  readonly isSmaller: boolean
  /** The sections that all jobs share. */
  readonly sections: Sections
}

type Sections = Readonly<Record<string, unknown>>

/** What one job has of its own, laid over the materials' sections, key by key. */
export interface JobOptions {
  /** What the job comes to hangs on these. */
  readonly sections?: Overlay
  /** And not on these, which shape how it comes about. */
  readonly freely?: Overlay
  readonly rows?: number
}

type Overlay = Readonly<Record<string, Sections>>

const demoSamples = 120

/** @param s3  absent: the user's store */
export type JobPlace = JobOptions & { readonly s3: S3Process | null }

/** Target and dataset are written once, in `dir`. */
export async function demoMaterials(dir: string, samples = demoSamples): Promise<Materials> {
  const [target, dataset] = ['target', 'dataset'].map((name) => join(dir, name))
  await writeDemoTarget(target)
  await writeDemoDataset(dataset)
  const sections = {
    dataset: { path: dataset },
    target: { path: target },
    extract: { devices: ['cpu', 'cpu'], tokenBudget: 512, maxTokens: 512 },
    upload: { threads: 1, maxParallel: 8 },
    // Small steps and a small spool: each start gets on by a part of the job only.
    commit: { every: 10, seconds: 1 },
    spool: { keepFree: '1MB', maxBytes: '2MB' },
  }
  return { kind: 'demo', dir, rows: samples, isSmaller: samples < demoSamples, sections }
}

/** @param samples  so many rows of it: a drill is no whole run */
export function ownMaterials(dir: string, path: string, samples: number): Materials {
  const {
    train: _train,
    monitor: _page,
    notify: _hook,
    cluster: _many,
    // A notice for this machine ends a drill's run as it ends any.
    preemption: _notice,
    ...config
  } = loadConfig(path).config
  const commit = { every: Math.max(1, Math.floor(samples / 8)), seconds: 1 }
  const { tokenBudget, maxTokens } = config.extract
  // As many batches as so few rows can make.
  const extract = { ...config.extract, tokenBudget: Math.min(tokenBudget, maxTokens) }
  const store = config.store.replace(/\/+$/, '')
  const sections = { ...config, store, extract, commit }
  return { kind: 'own', dir, rows: samples, isSmaller: true, sections }
}

/** A job of its own: a folder, and a place in the store. */
export async function layOut(
  { dir: base, rows, sections }: Materials,
  name: string,
  { s3, ...options }: JobPlace,
): Promise<Job> {
  const dir = join(base, name)
  const work = join(dir, 'work')
  mkdirSync(work, { recursive: true })
  // Nobody else's: other machines may hold drills on the same store.
  const own = `drill-${randomUUID().slice(0, 8)}-${name}`
  const store = s3 ? `s3://draftsmith/${name}` : `${sections.store}/${own}`
  const laid: Record<string, unknown> = { ...sections, store, work }
  if (s3) laid.s3 = { endpoint: s3.endpoint, region: 'us-east-1' }
  const limit = { extract: { limit: options.rows ?? rows } }
  for (const overlay of [options.sections ?? {}, options.freely ?? {}, limit]) {
    for (const [section, keys] of Object.entries(overlay)) {
      laid[section] = { ...(laid[section] as Sections | undefined), ...keys }
    }
  }
  const path = join(dir, 'config.json')
  writeFileSync(path, JSON.stringify(laid))
  const { config } = loadConfig(path)
  return {
    dir,
    config: path,
    work,
    target: config.target.path,
    dataset: config.dataset.path,
    storeUrl: store,
    storeArgs: storeArgs(config),
    env: s3 ? credentials : {},
    openStore: () => openStore(store, config.s3, s3 ? { env: credentials } : {}),
  }
}

const storeArgs = ({ s3 }: Config): readonly string[] => [
  ...(s3.endpoint === undefined ? [] : ['--endpoint', s3.endpoint]),
  ...(s3.region === undefined ? [] : ['--region', s3.region]),
]
