/** Small datasets on disk, for tests. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { DatasetRow } from '../../src/dataset/write.ts'
import { writeDataset } from '../../src/dataset/write.ts'
import { scratch } from './target-run.ts'

/** Rows of token ids; every token but the first is supervised, unless a row says otherwise. */
export type Row = readonly number[] | { readonly ids: readonly number[]; readonly mask: number[] }

export async function writeRows(
  dir: string,
  rows: readonly Row[],
  { shards = 1 }: { readonly shards?: number } = {},
): Promise<void> {
  const rowsPerBatch = Math.max(1, Math.ceil(rows.length / shards))
  const written = rows.map((row): DatasetRow => {
    const ids = 'ids' in row ? row.ids : row
    const mask = 'ids' in row ? row.mask : ids.map((_, i) => (i === 0 && ids.length > 1 ? 0 : 1))
    return { inputIds: Int32Array.from(ids), lossMask: Uint8Array.from(mask) }
  })
  await writeDataset(dir, { rows: written, count: rows.length, shards, rowsPerBatch })
}

/** A dataset's folder that goes when its test ends. */
export async function rowsFolder(t: TestContext, rows: readonly Row[]): Promise<string> {
  const dir = join(await scratch(t), 'dataset')
  await writeRows(dir, rows)
  return dir
}
