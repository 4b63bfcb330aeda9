/**
 * Writes a tokenized dataset as Hugging Face's `datasets.save_to_disk` lays one out: shards of
 * Arrow IPC streams, `dataset_info.json`, `state.json`. One record batch is in memory at a time.
 */
import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AsyncByteQueue, RecordBatchStreamWriter } from 'apache-arrow'
import { Failure } from '../failure.ts'
import { BatchBuilder, datasetSchema, features } from './batch-builder.ts'

/** One sample to write. */
export interface DatasetRow {
  readonly inputIds: Int32Array
  /** As long as `inputIds`: 1 where the token is trained on, else 0. */
  readonly lossMask: Uint8Array
}

/** What to write, and how it is cut: the same options give the same files. */
export interface WriteDatasetOptions {
  /** A row is copied before the next is asked for, so the arrays may be reused. */
  readonly rows: Iterable<DatasetRow>
  /** How many rows there are; it decides which shard a row goes to. */
  readonly count: number
  /** No more than there are batches are written; at least one. */
  readonly shards: number
  /** Default 1,000, as `datasets` does. */
  readonly rowsPerBatch?: number
  readonly description?: string
  /** What `load_from_disk` gives its items as; default: plain lists and numbers. */
  readonly format?: 'torch'
}

/** What was written, over all shards. */
export interface WrittenDataset {
  readonly rows: number
  readonly tokens: number
  /** Of the shards. */
  readonly bytes: number
}

/**
 * Columns: `input_ids` list<int32>, `loss_mask` list<int8>, `seq_len` int32. The same rows give the
 * same bytes. `state.json` comes last: a directory without it is no dataset, so a write cut short
 * is never read as a small one.
 *
 * @throws  Failure `invalid`: `rows` are not `count`, or a row's mask is not as long as its ids
 * @source  `datasets` 5.2.0, `Dataset.save_to_disk`
 */
export async function writeDataset(
  dir: string,
  options: WriteDatasetOptions,
): Promise<WrittenDataset> {
  const { count, rowsPerBatch = 1_000 } = options
  const rows = options.rows[Symbol.iterator]()
  const fingerprint = createHash('sha256')
  const batches = Math.ceil(count / rowsPerBatch)
  const shards = Math.max(1, Math.min(options.shards, batches))
  const names = Array.from({ length: shards }, (_, shard) => shardName(shard, shards))
  await mkdir(dir, { recursive: true })
  await rm(join(dir, 'state.json'), { force: true })

  const written = { rows: 0, tokens: 0, bytes: 0 }
  for (const [shard, name] of names.entries()) {
    const end = Math.min(count, Math.floor((batches * (shard + 1)) / shards) * rowsPerBatch)
    const writer = await ShardWriter.create(join(dir, name), fingerprint)
    const builder = new BatchBuilder(rowsPerBatch)
    try {
      while (written.rows < end) {
        takeRows(rows, builder, Math.min(rowsPerBatch, end - written.rows), written.rows)
        written.rows += builder.rows
        written.tokens += builder.tokens
        await writer.write(builder)
      }
      written.bytes += await writer.finish()
    } finally {
      await writer.close()
    }
  }
  if (rows.next().done !== true) {
    throw new Failure('invalid', `more rows than were announced. want=${count}`)
  }
  await writeJson(dir, 'dataset_info.json', {
    citation: '',
    description: options.description ?? '',
    features,
    homepage: '',
    license: '',
  })
  await writeJson(dir, 'state.json', {
    _data_files: names.map((filename) => ({ filename })),
    _fingerprint: fingerprint.digest('hex').slice(0, 16),
    _format_columns: null,
    _format_kwargs: {},
    _format_type: options.format ?? null,
    _output_all_columns: false,
    _split: null,
  })
  return written
}

function takeRows(
  rows: Iterator<DatasetRow>,
  builder: BatchBuilder,
  wanted: number,
  first: number,
): void {
  builder.clear()
  while (builder.rows < wanted) {
    const next = rows.next()
    const row = first + builder.rows
    if (next.done === true) {
      throw new Failure('invalid', `fewer rows than were announced. found=${row}`)
    }
    const { inputIds, lossMask } = next.value
    if (inputIds.length !== lossMask.length) {
      const found = `ids=${inputIds.length}, mask=${lossMask.length}`
      throw new Failure('invalid', `a row's mask is not as long as its ids. row=${row}, ${found}`)
    }
    builder.add(inputIds, lossMask)
  }
}

const shardName = (shard: number, shards: number): string =>
  `data-${String(shard).padStart(5, '0')}-of-${String(shards).padStart(5, '0')}.arrow`

/** Without a newline at the end, with two spaces, as Python's `json.dump(…, indent=2)` has it. */
const writeJson = (dir: string, name: string, value: unknown): Promise<void> =>
  writeFile(join(dir, name), JSON.stringify(value, null, 2))

/** Gathers what the Arrow writer emits, so that it goes to the file in step with the rows. */
class Emitted extends AsyncByteQueue {
  readonly #chunks: Uint8Array[] = []

  override write(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
  }

  take(): Buffer {
    return Buffer.concat(this.#chunks.splice(0))
  }
}

/** One shard: an Arrow IPC stream in a file. */
class ShardWriter {
  readonly #file: FileHandle
  readonly #fingerprint: Hash
  readonly #emitted = new Emitted()
  readonly #writer = new RecordBatchStreamWriter()
  #bytes = 0

  private constructor(file: FileHandle, fingerprint: Hash) {
    this.#file = file
    this.#fingerprint = fingerprint
    this.#writer.reset(this.#emitted, datasetSchema)
  }

  static async create(path: string, fingerprint: Hash): Promise<ShardWriter> {
    return new ShardWriter(await open(path, 'w'), fingerprint)
  }

  async write(builder: BatchBuilder): Promise<void> {
    this.#writer.write(builder.batch())
    await this.#flush()
  }

  /** Ends the stream; the shard's length in bytes. */
  async finish(): Promise<number> {
    this.#writer.finish()
    await this.#flush()
    return this.#bytes
  }

  async #flush(): Promise<void> {
    const bytes = this.#emitted.take()
    this.#fingerprint.update(bytes)
    this.#bytes += bytes.length
    await this.#file.writeFile(bytes)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
