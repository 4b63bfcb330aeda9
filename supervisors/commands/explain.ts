import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type HistoryLine, historyOf } from '../../src/audit/history.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig, parseConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import { Failure } from '../../src/failure.ts'
import { entryKey, type ManifestEntry } from '../../src/manifest/entry.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import type { EntryTable } from '../../src/manifest/table.ts'
import { solePermits } from '../../src/store/patient.ts'
import type { ObjectInfo, ObjectStore } from '../../src/store/store.ts'
import { type KnownRows, rowsOfDataset, rowsOfStore } from '../keeping/known-rows.ts'
import { type LocalSample, localSample } from '../keeping/local-sample.ts'
import { type StoreOptions, s3Given, s3Here, storeOfRun } from '../store-of-run.ts'
import { explainText } from './explain-text.ts'

/** `explain ROW|HASH`: where a sample is, why, and what became of it so far. */

export interface ExplainOptions extends StoreOptions {
  readonly config?: string
  readonly store?: string
  readonly work?: string
  readonly json: boolean
}

export interface Explained {
  readonly state:
    | 'stored'
    | 'quarantined'
    | 'lost'
    | 'failed'
    | 'spooled'
    | 'skipped'
    | 'waiting'
    | 'unknown'
  /** As asked; null where a hash was. */
  readonly row: number | null
  /** All that are known to have these token ids. */
  readonly rows: readonly number[]
  readonly hash: string | null
  readonly skipped: string | null
  readonly entry: ManifestEntry | null
  readonly object: (Omit<ObjectInfo, 'key'> & { readonly key: string }) | null
  readonly local: LocalSample | null
  readonly history: readonly HistoryLine[]
}

interface Places {
  readonly store: ObjectStore
  readonly table: EntryTable
  readonly rows: KnownRows
  readonly work: string | null
}

/** @throws Failure `invalid`: no such row, or a hash that several samples begin with */
export async function explainSample(asked: string, options: ExplainOptions): Promise<number> {
  const places = await openPlaces(options)
  const found = await explained(parse(asked), places)
  process.stdout.write(`${options.json ? JSON.stringify(found) : explainText(found)}\n`)
  return found.state === 'unknown' ? 1 : 0
}

async function openPlaces(options: ExplainOptions): Promise<Places> {
  if ((options.config === undefined) === (options.store === undefined)) {
    throw new Failure('invalid', 'which run? want=one of --config and --store', {
      remedy: 'Give --config config.yaml, or --store s3://bucket/prefix.',
    })
  }
  const config = options.config === undefined ? undefined : configAt(options.config)
  const work = config?.work ?? (options.work === undefined ? null : resolve(options.work))
  const s3 = config ? { ...config.s3, ...s3Given(options) } : s3Here(options)
  const place = { url: config?.store ?? options.store ?? '', s3 }
  const { store, run } = await storeOfRun(place, { actor: 'explain', acquire: solePermits(100) })
  const writer = newWriterId(systemClock, Math.random)
  const table = await openManifest(store, { writer }).replay()
  const rows = config ? await rowsOfDataset(config, run, store) : await rowsOfStore(store, work)
  return { store, table, rows, work }
}

/** `-`: from stdin. */
const configAt = (path: string): Config =>
  path === '-'
    ? parseConfig(readFileSync(0, 'utf8'), { name: 'stdin', base: process.cwd() }).config
    : loadConfig(path).config

type Asked = { readonly row: number } | { readonly prefix: string }

const hashDigits = 32
const prefixDigitsMin = 4

/** Digits alone are a row, unless they are as many as a hash has. */
function parse(asked: string): Asked {
  const text = asked.toLowerCase()
  if (/^\d{1,15}$/.test(text)) return { row: Number(text) }
  const isHex = /^[0-9a-f]+$/.test(text)
  if (isHex && text.length >= prefixDigitsMin && text.length <= hashDigits) return { prefix: text }
  throw new Failure('invalid', `neither row nor hash. found=${asked}`, {
    remedy: `Give a row from 0, or ${prefixDigitsMin} to ${hashDigits} hex digits of a hash.`,
  })
}

async function explained(asked: Asked, places: Places): Promise<Explained> {
  const { rows, store, table, work } = places
  const row = 'row' in asked ? asked.row : null
  const facts = 'row' in asked ? rows.look(asked.row) : null
  const hash = 'prefix' in asked ? wholeHash(asked.prefix, places) : (facts?.hash ?? null)
  const same = hash === null ? [] : rows.find(hash).map((one) => one.row)
  const batchRow = row ?? same[0] ?? null
  const batch = batchRow === null ? null : rows.batchOf(batchRow)
  const entry = (hash !== null && table.get(hash)) || null
  const object = entry?.status === 'stored' ? await store.head(entryKey(entry)) : undefined
  const local = hash === null || work === null ? null : await localSample(work, hash, batch)
  const history = hash === null ? [] : await historyOf(store, hash)
  const skipped = facts?.skipped ?? null
  const state = stateOf({ entry, local, skipped, isRow: batchRow !== null })
  return { state, row, rows: same, hash, skipped, entry, object: object ?? null, local, history }
}

function stateOf(at: {
  readonly entry: ManifestEntry | null
  readonly local: LocalSample | null
  readonly skipped: string | null
  readonly isRow: boolean
}): Explained['state'] {
  if (at.entry?.status === 'stored') return 'stored'
  if (at.local?.failed) return 'failed'
  if (at.local?.spooled) return 'spooled'
  if (at.entry) return at.entry.status
  if (at.skipped !== null) return 'skipped'
  return at.isRow ? 'waiting' : 'unknown'
}

/** @throws Failure `invalid`: several samples begin so */
function wholeHash(prefix: string, { rows, table }: Places): string {
  if (prefix.length === hashDigits) return prefix
  const found = new Set(rows.find(prefix).map(({ hash }) => hash))
  for (const { hash } of table.entries()) if (hash.startsWith(prefix)) found.add(hash)
  const [hash, ...more] = found
  if (hash !== undefined && more.length === 0) return hash
  throw new Failure(
    'invalid',
    `want one sample whose hash begins so. prefix=${prefix}, found=${found.size}`,
    { remedy: more.length > 0 ? 'Give more digits.' : 'Give all 32 digits, or its row.' },
  )
}
