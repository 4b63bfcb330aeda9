import type { Batch, BatchRow, SampleHash } from '../../protocol/sample.ts'
import type { RowOutcome } from '../../protocol/source.ts'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import type { Sample, SkipReason } from '../../src/dataset/open-batch.ts'
import { Owners } from '../../src/dataset/owners.ts'
import { batchId, type Plan } from '../../src/dataset/plan.ts'
import type { RowHashes } from '../../src/dataset/row-hashes.ts'
import type { Dataset } from '../../src/dataset/rows.ts'
import { skipByLength, usable } from '../../src/dataset/usable.ts'

export interface PlannedParts {
  readonly dataset: Dataset
  readonly lengths: Int32Array
  readonly plan: Plan
  readonly hashes: RowHashes
  readonly limits: { readonly vocab: number; readonly maxTokens: number }
}

/** What was seen of the dataset so far, in the order of the plan. */
export interface Examined {
  rows: number
  tokens: number
  /** Rows that need not be computed: the manifest or the spool had them. */
  found: number
  repeated: number
  readonly skipped: Map<SkipReason, number>
}

/** Samples that nobody accounts for, and what of the plan holds them, in its order. */
export interface Missing {
  readonly samples: ReadonlySet<SampleHash>
  readonly batches: readonly MissingBatch[]
}

interface MissingBatch {
  readonly index: number
  readonly rows: number
  readonly tokens: number
}

/**
 * The plan's batches as work: each with its usable rows, those marked that are still wanted. Which
 * rows make up a batch never depends on what is stored, so that its bits are the same each time: a
 * row that repeats an earlier one of the plan, and one that is no use, are in no batch at all.
 */
export class PlannedBatches {
  readonly #parts: PlannedParts
  readonly #known: Owners
  /** Of each content hash, the first row of the plan. */
  readonly #owners: Owners
  readonly examined: Examined = {
    rows: 0,
    tokens: 0,
    found: 0,
    repeated: 0,
    skipped: new Map(),
  }

  /** @param known  16 bytes for each sample that need not be computed */
  constructor(parts: PlannedParts, known: Uint8Array) {
    this.#parts = parts
    this.#owners = new Owners(parts.plan.rowsPlanned)
    this.#known = Owners.of(known)
    for (const row of parts.plan.unplanned) {
      this.#skip(skipByLength(parts.lengths[row], parts.limits.maxTokens) ?? 'empty')
    }
  }

  get planned(): number {
    return this.#parts.plan.batches
  }

  /** The batch, for the first time; null where nothing in it is wanted. */
  first(index: number): Batch | null {
    const rows = this.#parts.plan.rows(index)
    if (this.#foundWhole(rows)) return null
    return this.#read(index, (hash) => !this.#known.has(hash), this.examined)
  }

  /** The batch, again: nothing but these is wanted in it; null where it only repeats them. */
  again(index: number, samples: ReadonlySet<SampleHash>): Batch | null {
    return this.#read(index, (hash) => samples.has(Buffer.from(hash).toString('hex')), null)
  }

  /**
   * Samples of this dataset that nobody accounts for.
   *
   * @param known   16 bytes for each sample that is committed, quarantined or spooled
   * @param failed  those that the store would not take
   */
  missing(known: Uint8Array, failed: readonly SampleHash[]): Missing {
    const accounted = Owners.of(known)
    for (const hash of failed) accounted.claim(Buffer.from(hash, 'hex'), 0)
    const { hashes, lengths, plan } = this.#parts
    const samples = new Set<SampleHash>()
    const batches: MissingBatch[] = []
    for (let index = 0; index < this.planned; index++) {
      const rows = plan.rows(index)
      let isWhole = true
      for (const row of rows) {
        const hash = hashes.get(row)
        if (!hash || accounted.has(hash) || !this.#owners.has(hash)) continue
        samples.add(Buffer.from(hash).toString('hex'))
        isWhole = false
      }
      if (isWhole) continue
      const tokens = rows.reduce((sum, row) => sum + lengths[row], 0)
      batches.push({ index, rows: rows.length, tokens })
    }
    return { samples, batches }
  }

  /** How the distinct samples of this dataset ended, when all have. */
  outcome(ended: {
    readonly quarantined: readonly SampleHash[]
    readonly failed: readonly SampleHash[]
  }): RowOutcome {
    const ours = (hashes: readonly SampleHash[]) =>
      hashes.filter((hash) => this.#owners.has(Buffer.from(hash, 'hex'))).length
    const quarantined = ours(ended.quarantined)
    const failed = ours(ended.failed)
    return { committed: this.#owners.size - quarantined - failed, quarantined, failed }
  }

  /** True where all rows are known to be found or repeated, without reading any. */
  #foundWhole(rows: Uint32Array): boolean {
    const { hashes, lengths } = this.#parts
    for (const row of rows) {
      const hash = hashes.get(row)
      if (!hash || !this.#known.has(hash)) return false
    }
    for (const row of rows) {
      const hash = hashes.get(row)
      if (hash) this.#count(row, hash, lengths[row])
    }
    return true
  }

  #count(row: number, hash: Uint8Array, tokens: number): void {
    this.examined.rows++
    this.examined.tokens += tokens
    if (this.#owners.claim(hash, row) !== row) this.examined.repeated++
    else if (this.#known.has(hash)) this.examined.found++
  }

  #read(
    index: number,
    isWanted: (hash: Uint8Array) => boolean,
    count: Examined | null,
  ): Batch | null {
    const { dataset, hashes, limits, plan } = this.#parts
    const rows: BatchRow[] = []
    const samples: Sample[] = []
    for (const row of plan.rows(index)) {
      const sample = usable(dataset.read(row), limits)
      if ('unusable' in sample) {
        if (count) this.#skip(sample.unusable, this.#parts.lengths[row])
        continue
      }
      const hash = hashes.get(row) ?? contentHash(sample.ids)
      hashes.set(row, hash)
      if (count) this.#count(row, hash, sample.ids.length)
      if (this.#owners.claim(hash, row) !== row) continue
      const wanted = isWanted(hash)
      rows.push({ row, hash: Buffer.from(hash).toString('hex'), tokens: sample.ids.length, wanted })
      samples.push(sample)
    }
    if (!rows.some((row) => row.wanted)) return null
    return { id: batchId(index), rows, tokenIds: joined(samples) }
  }

  #skip(reason: SkipReason, plannedTokens = 0): void {
    this.examined.rows++
    this.examined.tokens += plannedTokens
    this.examined.skipped.set(reason, (this.examined.skipped.get(reason) ?? 0) + 1)
  }
}

function joined(samples: readonly Sample[]): Int32Array<ArrayBuffer> {
  const all = new Int32Array(samples.reduce((sum, sample) => sum + sample.ids.length, 0))
  let at = 0
  for (const { ids } of samples) {
    all.set(ids, at)
    at += ids.length
  }
  return all
}

/** The two halves of a batch that kills, to find the row that does. */
export function halves(batch: Batch): [Batch, Batch] {
  const middle = Math.ceil(batch.rows.length / 2)
  const tokens = batch.rows.slice(0, middle).reduce((sum, row) => sum + row.tokens, 0)
  return [
    {
      id: `${batch.id}.0`,
      rows: batch.rows.slice(0, middle),
      tokenIds: batch.tokenIds.slice(0, tokens),
    },
    { id: `${batch.id}.1`, rows: batch.rows.slice(middle), tokenIds: batch.tokenIds.slice(tokens) },
  ]
}
