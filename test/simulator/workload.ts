import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { extract } from '../../actors/extractor/extract.ts'
import type { Config } from '../../src/config/schema.ts'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import type { Dataset } from '../../src/dataset/rows.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { sampleKey } from '../../src/manifest/key.ts'
import type { Prepared } from '../../supervisors/run/preflight.ts'
import { writeRows } from '../support/rows.ts'
import type { Expected } from './invariants.ts'
import { captures, type Evil, fingerprint, hidden, loadSimulated, metadata } from './model.ts'
import { rowsMax, type Scenario } from './scenario.ts'
import { Life, World } from './world.ts'

/** The work of a simulated run: rows on a real disk, read at once, and what must come of them. */

/** On a simulated disk. */
export const work = '/simulated'
const vocab = 1000
/** A row that repeats another, and one that is no use as data, are among them. */
const rows = Array.from({ length: rowsMax }, (_, row) =>
  row === 5 ? [] : row === 7 ? idsOf(2) : idsOf(row),
)

function idsOf(row: number): number[] {
  return Array.from({ length: 2 + ((row * 5) % 7) }, (_, at) => 10 + row * 20 + at)
}

export interface Workload {
  readonly config: Config
  readonly prepared: Prepared
  readonly dataset: Dataset
  readonly evil: Evil
  readonly expected: readonly Expected[]
  /** Of rows that cannot be computed. */
  readonly evilHashes: ReadonlySet<string>
}

/** Once for all runs of this process. */
export class Workloads {
  readonly #dataset: Dataset
  readonly #path: string
  readonly #all: readonly Expected[]

  private constructor(path: string, dataset: Dataset, all: readonly Expected[]) {
    this.#path = path
    this.#dataset = dataset
    this.#all = all
  }

  static async open(): Promise<Workloads> {
    const path = await mkdtemp(join(tmpdir(), 'simulated-'))
    await writeRows(path, rows)
    const dataset = openDataset(path, { columns })
    // Its files are no part of what is simulated.
    dataset.files = () => []
    for (let row = 0; row < dataset.rows; row++) dataset.read(row)
    return new Workloads(path, dataset, await expectedOf())
  }

  async close(): Promise<void> {
    await rm(this.#path, { recursive: true })
  }

  of(scenario: Scenario): Workload {
    const { poison, nan } = scenario
    const config = configOf(scenario, this.#path)
    const firstOf = (row: number | null) => (row === null ? null : (rows[row]?.[0] ?? null))
    const evil = { poison: firstOf(poison), nan: firstOf(nan) }
    const wanted = new Set(
      rows
        .slice(0, scenario.rows)
        .filter((ids) => ids.length > 0)
        .map(hashOf),
    )
    const evilRows = rows.filter(([first]) => first === evil.poison || first === evil.nan)
    return {
      config,
      dataset: this.#dataset,
      prepared: preparedOf(config, this.#dataset, scenario),
      evil,
      expected: this.#all.filter(({ hash }) => wanted.has(hash)),
      evilHashes: new Set(evilRows.filter((ids) => ids.length > 0).map(hashOf)),
    }
  }
}

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
const hashOf = (ids: readonly number[]): string => contentHash(Int32Array.from(ids)).toString('hex')

/** Each row computed alone, by the product's own way from states to a file. */
async function expectedOf(): Promise<Expected[]> {
  const model = await settled((life) => loadSimulated(life, { poison: null, nan: null }))
  const all: Expected[] = []
  for (const ids of rows) {
    if (ids.length === 0) continue
    const hash = hashOf(ids)
    const batch = {
      id: 'b000000',
      rows: [{ row: 0, hash, tokens: ids.length, wanted: true }],
      tokenIds: Int32Array.from(ids),
    } as const
    const { spooled } = await settled((life) =>
      loadSimulated(life, { poison: null, nan: null }).then(({ forward }) =>
        extract(batch, {
          captures,
          hidden,
          dtype: 'f32',
          metadata,
          forward,
          keep: async () => true,
        }),
      ),
    )
    for (const { crc32, bytes } of spooled)
      all.push({ hash, key: sampleKey(hash, crc32), crc32, bytes })
  }
  await model.release()
  return all
}

/** In a world of its own, where nothing goes wrong. */
async function settled<T>(work: (life: Life) => Promise<T>): Promise<T> {
  const world = new World(1)
  const result = work(new Life(world, 'alone'))
  let isOver = false
  result.finally(() => {
    isOver = true
  })
  while (!isOver) {
    world.next()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return await result
}

const configOf = (scenario: Scenario, path: string): Config => ({
  store: 's3://simulated/run',
  s3: { pathStyle: true, checksums: 'when-supported' },
  work,
  dataset: { path, columns },
  target: { path: '/target', layers: 'auto', captureFinal: false },
  extract: {
    devices: Array.from({ length: scenario.extractors }, () => 'cpu' as const),
    engine: 'onnxruntime',
    tokenBudget: 20,
    maxTokens: 16,
    dtype: 'f32',
    isolation: 'thread',
    limit: scenario.rows,
  },
  upload: {
    maxParallel: scenario.maxParallel,
    attempts: 6,
    threads: scenario.uploaders,
    deadlineMinutes: 10,
  },
  commit: { every: scenario.commitEvery, seconds: 1 },
  spool: { keepFree: 1e6, maxBytes: scenario.spoolMax },
})

function preparedOf(config: Config, dataset: Dataset, { rows }: Scenario): Prepared {
  const target = { vocabSize: vocab }
  return {
    config,
    place: { url: config.store, s3: config.s3 },
    // Of a target the tree asks how many tokens it knows, and nothing else.
    target: target as Prepared['target'],
    targetStamp: 'stamp',
    dataset,
    identity: {
      target: fingerprint,
      architecture: 'Simulated',
      layers: [1, 2],
      hiddenSize: hidden,
      dtype: 'f32',
      captureFinal: false,
      quantization: 'none',
      truncation: 'none',
    },
    plan: { tokenBudget: 20, maxTokens: 16, outputBytesMax: 1e6, limit: rows, seed: 0 },
    outputBytesPerToken: captures.length * hidden * Float32Array.BYTES_PER_ELEMENT,
    threadsPerDevice: 1,
    retry: new Map(),
    storeSums: false,
    training: null,
  }
}
