/** Stored samples to train on: a dataset, a manifest, a store, and whoever feeds a trainer. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { LoaderInput } from '../../actors/loader/index.ts'
import { type OpenedFeed, openFeed } from '../../actors/loader/open.ts'
import type { Clock } from '../../src/clock.ts'
import { train as trainSchema } from '../../src/config/train-schema.ts'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import type { Fed } from '../../src/feed/feed.ts'
import { OrderLog, type OrderRule } from '../../src/feed/order-log.ts'
import type { TrainingBatch } from '../../src/feed/training-batch.ts'
import { entryKey, type ManifestEntry } from '../../src/manifest/entry.ts'
import type { RunIdentity } from '../../src/run/identity.ts'
import { encodeSample, sampleMetadata } from '../../src/sample/encode.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { silent, told } from './ledger-rig.ts'
import { type Row, writeRows } from './rows.ts'
import { scratch } from './target-run.ts'

/** Hashes that nobody's token ids have: 16 bytes each. */
export const hashesOf = (count: number): Buffer =>
  Buffer.concat(
    Array.from({ length: count }, (_, n) =>
      createHash('sha256').update(`sample ${n}`).digest().subarray(0, 16),
    ),
  )

export const hexes = (hashes: Uint8Array): string[] =>
  Array.from({ length: hashes.length / 16 }, (_, i) =>
    Buffer.from(hashes.subarray(i * 16, i * 16 + 16)).toString('hex'),
  )

export const orderRule: OrderRule = {
  seed: 5,
  shuffleWindow: 100,
  tokensPerBatch: 1024,
  anchorRule: 'next-supervised',
  blockSize: 4,
}

/** One group, of samples of these lengths. */
export function logOf(lengths: readonly number[]): OrderLog {
  const log = new OrderLog({ training: 't', rule: orderRule, split: null })
  log.admit(hashesOf(lengths.length), Uint32Array.from(lengths))
  return log
}

export const identity: RunIdentity = {
  target: '00',
  architecture: 'qwen3',
  layers: [0, 2],
  hiddenSize: 4,
  dtype: 'bf16',
  captureFinal: false,
  quantization: 'none',
  truncation: 'none',
}

/** Row `n`: so many tokens, unlike any other row's; all but the first are trained on. */
export const rowOf = (n: number, tokens: number): number[] =>
  Array.from({ length: tokens }, (_, i) => (n * 31 + i * 7 + (i === 0 ? n : 0)) % 50_000)

/** A number for each value of a sample, which tells token, capture and column. */
export const stateOf = (id: number, place: number): number => 0x3f80 + ((id * 13 + place) % 97)

export interface StoredSample {
  readonly ids: readonly number[]
  readonly entry: ManifestEntry
  readonly bytes: Buffer
}

/** A sample's file, as an extractor writes it. */
export function sampleOf(ids: readonly number[], of: RunIdentity = identity): StoredSample {
  const captures = [...of.layers.map((id) => `layer_${id}`), ...(of.captureFinal ? ['final'] : [])]
  const width = captures.length * of.hiddenSize
  const values = ids.flatMap((id) => Array.from({ length: width }, (_, at) => stateOf(id, at)))
  const states = of.dtype === 'f32' ? Float32Array.from(values) : Uint16Array.from(values)
  const hash = contentHash(Int32Array.from(ids)).toString('hex')
  const { parts, bytes, crc32, tokens } = encodeSample(
    { hash, ids: Int32Array.from(ids), states: new Uint8Array(states.buffer) },
    {
      captures,
      hidden: of.hiddenSize,
      dtype: of.dtype,
      metadata: sampleMetadata(of.target, captures),
    },
  )
  const entry: ManifestEntry = {
    hash,
    key: null,
    offset: 0,
    length: bytes,
    tokens,
    crc32,
    status: 'stored',
    reason: null,
    attempt: 0,
  }
  return { ids, entry, bytes: Buffer.concat(parts) }
}

const idsOf = (row: Row): readonly number[] => ('ids' in row ? row.ids : row)

export interface FeedRig {
  readonly work: string
  readonly store: ObjectStore
  readonly input: LoaderInput
  /** As many as there are distinct rows, in the dataset's order. */
  readonly samples: readonly StoredSample[]
  /** Another loader's start, in the same work folder. */
  open(changes?: Partial<LoaderInput>): Promise<OpenedFeed>
  /** Puts them, and names them in the manifest. */
  add(samples: readonly StoredSample[]): Promise<void>
}

export interface RigOptions {
  readonly store?: ObjectStore
  readonly train?: Record<string, unknown>
  readonly identity?: RunIdentity
  readonly clock?: Clock
  /** How many of the samples are stored; absent: all. */
  readonly stored?: number
  readonly input?: Partial<LoaderInput>
}

/** Small batches, and nothing held out unless a test says so. */
const train = { tokensPerBatch: 1024, blockSize: 4, heldOut: null, epochs: 2, queueBytes: '1MB' }

export async function feedRig(
  t: TestContext,
  rows: readonly Row[],
  options: RigOptions = {},
): Promise<FeedRig> {
  const { store = new MemoryStore(), identity: of = identity } = options
  const work = await scratch(t)
  const path = join(work, 'dataset')
  await writeRows(path, rows)
  const distinct = new Map(rows.map((row) => [String(idsOf(row)), idsOf(row)]))
  const samples = [...distinct.values()].map((ids) => sampleOf(ids, of))
  const input: LoaderInput = {
    work,
    store: { url: store.url, s3: {} },
    attempts: 3,
    deadlineMinutes: 1,
    dataset: {
      path,
      columns: { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' },
    },
    limit: null,
    vocab: 50_000,
    maxTokens: 4096,
    identity: of,
    train: trainSchema.parse({ ...train, ...options.train }),
    follows: false,
    cache: null,
    ...options.input,
  }
  const clock = options.clock ? { clock: options.clock } : {}
  const rig: FeedRig = {
    work,
    store,
    input,
    samples,
    open: (changes = {}) =>
      openFeed({ ...input, ...changes }, { store, log: silent, onRows: () => undefined, ...clock }),
    add: async (some) => {
      for (const { entry, bytes } of some) await store.put(entryKey(entry), bytes)
      await told(
        store,
        some.map(({ entry }) => entry),
      )
    },
  }
  const first = samples.slice(0, options.stored ?? samples.length)
  if (first.length > 0) await rig.add(first)
  return rig
}

/** Asks as a trainer does, until there is an answer. */
export async function fed({ feed }: OpenedFeed, plan: number): Promise<Exclude<Fed, 'later'>> {
  for (let asked = 0; asked < 10_000; asked++) {
    const found = await feed.next(plan)
    if (found !== 'later') return found
  }
  throw new Error(`no batch came. plan=${plan}`)
}

/** All batches from a plan on. */
export async function batchesFrom(opened: OpenedFeed, first = 0): Promise<TrainingBatch[]> {
  const batches: TrainingBatch[] = []
  for (let plan = first; ; plan++) {
    const batch = await fed(opened, plan)
    if (typeof batch === 'string') return batches
    batches.push(batch)
  }
}
