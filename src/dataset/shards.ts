/** Opens a dataset: finds its files, every record batch in them, and the wanted columns. */
import { statSync } from 'node:fs'
import { relative, sep } from 'node:path'
import type { Schema } from 'apache-arrow'
import { withFile } from './arrow-file.ts'
import { type ColumnNames, checkSameTypes, findColumns } from './columns.ts'
import { type DatasetFiles, findDatasetFiles } from './directory.ts'
import { readStream } from './messages.ts'
import { findRegions } from './regions.ts'
import { Dataset, type DatasetFile, type Shard } from './rows.ts'

/** What to open of a dataset, and in how much memory. */
export interface OpenOptions {
  /** Which dataset of a DatasetDict. */
  readonly split?: string | null
  readonly columns: ColumnNames
  /** What record batches are kept open, in bytes; 64 MiB unless given. */
  readonly cacheBytes?: number
}

/**
 * Opens a tokenized dataset. Reads every shard's metadata, and no row: a cut or damaged file is
 * refused here. A dataset may have no rows: whether that is right is the caller's to say.
 *
 * @param path  a directory of `save_to_disk` (a Dataset's or a DatasetDict's), or one Arrow IPC
 *              stream file
 * @throws Failure `invalid`: not a dataset that this version reads, or not with these columns;
 *         `corrupt`: a shard is cut or damaged
 */
export function openDataset(path: string, options: OpenOptions): Dataset {
  const files = findDatasetFiles(path, options.split ?? null)
  const opened = files.shards.map((shard) => openShard(shard, options.columns))
  const first = opened[0]
  for (const other of opened) if (first) checkSameTypes(options.columns, first, other)
  return new Dataset({
    entry: files.entry,
    files: listFiles(files),
    columns: first?.columns ?? null,
    shards: opened,
    cacheBytes: options.cacheBytes ?? 64 * 2 ** 20,
  })
}

interface OpenShard extends Shard {
  readonly schema: Schema
  readonly columns: ReturnType<typeof findColumns>
}

function openShard(path: string, names: ColumnNames): OpenShard {
  return withFile(path, (file) => {
    const { schema, batches } = readStream(file)
    const columns = findColumns(schema, names, path)
    return {
      path,
      size: file.size,
      schema,
      columns,
      batches: batches.map((batch) => findRegions(path, schema, columns, batch)),
    }
  })
}

/** A shard that is named twice is one file. */
const listFiles = ({ root, descriptions, shards }: DatasetFiles): DatasetFile[] =>
  [...new Set([...descriptions, ...shards])].map((path) => ({
    path,
    relative: relative(root, path).split(sep).join('/'),
    bytes: statSync(path).size,
  }))
