/**
 * The dataset as training needs it: which samples have something to learn, and the loss mask of
 * each, found by content hash. Rows of the same token ids are one sample: a token is trained on
 * where one of them says so, whichever comes first.
 */
import { type Clock, sleep } from '../clock.ts'
import { contentHash } from '../dataset/fingerprint.ts'
import type { Sample } from '../dataset/open-batch.ts'
import { Owners } from '../dataset/owners.ts'
import type { RowHashes } from '../dataset/row-hashes.ts'
import type { Dataset } from '../dataset/rows.ts'
import { type Limits, usable } from '../dataset/usable.ts'
import { hashOrder, inOrder } from './hash-order.ts'

/** The longest that a thread reads rows without letting a message in. */
const sliceMs = 20

export interface RowsToRead {
  readonly dataset: Pick<Dataset, 'read' | 'rows'>
  /** What is known of the rows' hashes: a row that is there is not hashed anew. */
  readonly hashes: Pick<RowHashes, 'get' | 'set'>
  /** The dataset's first rows only; null for all. */
  readonly limit: number | null
  readonly limits: Limits
  /** Whether a block can be anchored anywhere in a sample. `mask`: [tokens], 1 where trained on. */
  readonly hasAnchor: (mask: Uint8Array) => boolean
  readonly clock: Clock
  /** Told after each slice of the work. */
  readonly onProgress?: (rows: number) => void
}

/** What became of the dataset's rows. */
export interface RowCounts {
  readonly rows: number
  /** Rows that repeat the token ids of an earlier one. */
  readonly repeated: number
  /** Rows that are no use as data, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Samples that no block can be anchored in. */
  readonly withoutAnchor: number
}

interface Found {
  readonly owners: Owners
  /** By row: another row of the same token ids; −1 after the last. */
  readonly next: Int32Array
  /** By first row of a sample. */
  readonly verdicts: Uint8Array
  /** Tokens of each sample with an anchor, in the order of the hashes. */
  readonly tokens: Uint32Array
  /** 16 bytes of each sample with an anchor, in their order. */
  readonly hashes: Uint8Array<ArrayBuffer>
  readonly counts: RowCounts
}

export class TrainableRows {
  readonly counts: RowCounts
  readonly #dataset: Pick<Dataset, 'read'>
  readonly #found: Found

  constructor(dataset: Pick<Dataset, 'read'>, found: Found) {
    this.#dataset = dataset
    this.#found = found
    this.counts = found.counts
  }

  /** Distinct samples that can be trained on. */
  get count(): number {
    return this.#found.hashes.length / 16
  }

  /** 16 bytes of each, in their order. */
  get hashes(): Uint8Array<ArrayBuffer> {
    return this.#found.hashes
  }

  /** Tokens of each, in the order of the hashes. */
  get tokens(): Uint32Array {
    return this.#found.tokens
  }

  /** Whether it can be trained on. @param hash  16 bytes */
  has(hash: Uint8Array): boolean {
    const { owners, verdicts: are } = this.#found
    return owners.has(hash) && are[owners.claim(hash, 0)] === verdicts.anchored
  }

  /**
   * The sample's token ids, and the union of its rows' masks; undefined where no row has this hash.
   *
   * @param hash  32 hexadecimal digits
   */
  read(hash: string): { readonly ids: Int32Array; readonly mask: Uint8Array } | undefined {
    const bytes = Buffer.from(hash, 'hex')
    const { next, owners } = this.#found
    if (!owners.has(bytes)) return undefined
    return readUnion(this.#dataset, owners.claim(bytes, 0), next)
  }
}

/**
 * Reads every row once, some 10 µs each.
 *
 * @throws Failure `corrupt`: a shard is damaged
 */
export async function findTrainable(of: RowsToRead): Promise<TrainableRows> {
  const { dataset, clock, onProgress } = of
  const rows = Math.min(dataset.rows, of.limit ?? dataset.rows)
  const search = new Search(of, rows)
  let sliceStart = clock.now()
  for (let row = 0; row < rows; row++) {
    search.look(row)
    if (clock.now() - sliceStart < sliceMs) continue
    onProgress?.(row + 1)
    await sleep(0, clock)
    sliceStart = clock.now()
  }
  return new TrainableRows(dataset, search.found())
}

/** Of each sample's first row. */
const verdicts = { none: 0, anchored: 1, withoutAnchor: 2 } as const

class Search {
  readonly #of: RowsToRead
  readonly #owners: Owners
  readonly #next: Int32Array
  readonly #verdicts: Uint8Array
  readonly #tokens: Uint32Array
  readonly #skipped = new Map<string, number>()
  #repeated = 0

  constructor(of: RowsToRead, rows: number) {
    this.#of = of
    this.#owners = new Owners(rows)
    this.#next = new Int32Array(rows).fill(-1)
    this.#verdicts = new Uint8Array(rows)
    this.#tokens = new Uint32Array(rows)
  }

  look(row: number): void {
    const { dataset, hashes, limits, hasAnchor } = this.#of
    const sample = usable(dataset.read(row), limits)
    if ('unusable' in sample) {
      this.#skipped.set(sample.unusable, (this.#skipped.get(sample.unusable) ?? 0) + 1)
      return
    }
    const hash = hashes.get(row) ?? contentHash(sample.ids)
    hashes.set(row, hash)
    this.#tokens[row] = sample.ids.length
    const first = this.#owners.claim(hash, row)
    if (first !== row) this.#repeat(first, row)
    const mask = first === row ? maskOf(sample) : readUnion(dataset, first, this.#next).mask
    this.#verdicts[first] = hasAnchor(mask) ? verdicts.anchored : verdicts.withoutAnchor
  }

  found(): Found {
    const counts = {
      rows: this.#verdicts.length,
      repeated: this.#repeated,
      skipped: Object.fromEntries(this.#skipped),
      withoutAnchor: this.#verdicts.filter((is) => is === verdicts.withoutAnchor).length,
    }
    const first = Uint32Array.from(this.#anchored())
    const hashes = new Uint8Array(first.length * 16)
    first.forEach((row, i) => {
      hashes.set(this.#of.hashes.get(row) ?? [], i * 16)
    })
    const order = hashOrder(hashes)
    return {
      owners: this.#owners,
      next: this.#next,
      verdicts: this.#verdicts,
      tokens: order.map((i) => this.#tokens[first[i]]),
      hashes: inOrder(hashes, order),
      counts,
    }
  }

  /** The first row of each sample with an anchor. */
  *#anchored(): Generator<number> {
    for (const [row, is] of this.#verdicts.entries()) if (is === verdicts.anchored) yield row
  }

  #repeat(first: number, row: number): void {
    this.#repeated++
    this.#next[row] = this.#next[first]
    this.#next[first] = row
  }
}

/** Without a mask column all is trained on. */
const maskOf = ({ ids, mask }: Sample): Uint8Array => mask ?? new Uint8Array(ids.length).fill(1)

function readUnion(dataset: Pick<Dataset, 'read'>, first: number, next: Int32Array) {
  const sample = readUsed(dataset, first)
  const mask = maskOf(sample)
  for (let row = next[first]; row >= 0; row = next[row]) {
    maskOf(readUsed(dataset, row)).forEach((is, i) => {
      mask[i] |= is
    })
  }
  return { ids: sample.ids, mask }
}

/** A row that was usable when it was looked at. */
function readUsed(dataset: Pick<Dataset, 'read'>, row: number): Sample {
  const sample = dataset.read(row)
  if ('unusable' in sample) throw new Error(`a row has changed. row=${row}, ${sample.unusable}`)
  return sample
}
