import type { Batch, BatchRow, QuarantinedSample, SampleRef } from '../../protocol/sample.ts'
import type { StoredDType } from '../../src/models/hidden-states.ts'
import { probe } from '../../src/probe.ts'
import { crc32OfParts, encodeSafetensors } from '../../src/safetensors/write.ts'
import { type Capture, type CaptureShape, joinLayers, nonFinite, sizeFault } from './capture.ts'
import type { Extracted } from './machine.ts'

/** A padded batch for the model: token ids [rows, width], row-major, padded on the right with 0. */
export interface ModelInput {
  readonly ids: BigInt64Array
  readonly rows: number
  readonly width: number
}

export interface ExtractTools {
  /** Runs the target: one capture a layer, in the order of `layers`. */
  readonly forward: (input: ModelInput) => Promise<readonly Capture[]>
  /** Puts a whole file into the spool; waits where the disk is full. */
  readonly keep: (sample: SampleRef, parts: readonly Uint8Array[]) => Promise<void>
  /** What the captures are called, for messages and metadata: `layer_1`, …, `final`. */
  readonly captures: readonly string[]
  readonly hidden: number
  readonly dtype: StoredDType
  /** Goes into every file; the same on every machine, so that the bytes are. */
  readonly metadata: Readonly<Record<string, string>>
}

/** Files being written while the next rows are joined: few, beside a batch's states in memory. */
const writesMax = 4

/**
 * A batch → hidden states of the target → one spooled file a wanted row. A result that is not as
 * large as the batch may lack any row's values: then each row is computed alone, and only those
 * that fail again are quarantined.
 */
export async function extract(batch: Batch, tools: ExtractTools): Promise<Extracted> {
  const input = padded(batch)
  const captures = await tools.forward(input)
  probe('extractor.computed')
  const shape = { rows: input.rows, width: input.width, hidden: tools.hidden }
  const fault = sizeFault(captures, shape, tools.captures)
  if (fault === null) return await spoolRows(batch, captures, shape, tools)
  const [row, ...others] = batch.rows
  if (others.length > 0) return await extractAlone(batch, tools)
  const { hash, tokens } = row
  const quarantined = row.wanted ? [{ hash, tokens, reason: fault }] : []
  return { batch: batch.id, spooled: [], quarantined }
}

async function extractAlone(batch: Batch, tools: ExtractTools): Promise<Extracted> {
  const spooled: SampleRef[] = []
  const quarantined: QuarantinedSample[] = []
  let offset = 0
  for (const row of batch.rows) {
    const tokenIds = batch.tokenIds.slice(offset, offset + row.tokens)
    offset += row.tokens
    if (!row.wanted) continue
    const alone = await extract({ id: batch.id, rows: [row], tokenIds }, tools)
    spooled.push(...alone.spooled)
    quarantined.push(...alone.quarantined)
  }
  return { batch: batch.id, spooled, quarantined }
}

async function spoolRows(
  batch: Batch,
  captures: readonly Capture[],
  shape: CaptureShape,
  tools: ExtractTools,
): Promise<Extracted> {
  const spooled: SampleRef[] = []
  const quarantined: QuarantinedSample[] = []
  const writing: Promise<void>[] = []
  let offset = 0
  for (const [index, row] of batch.rows.entries()) {
    const ids = batch.tokenIds.subarray(offset, offset + row.tokens)
    offset += row.tokens
    if (!row.wanted) continue
    const joined = joinLayers(captures, shape, { index, tokens: row.tokens })
    const bad = nonFinite(joined, { layers: captures.length, hidden: tools.hidden }, tools.dtype)
    if (bad) {
      quarantined.push(quarantine(row, bad, tools.captures))
      continue
    }
    const { sample, parts } = sampleFile(row, ids, joined, tools)
    spooled.push(sample)
    if (writing.length === writesMax) await writing.shift()
    const write = tools.keep(sample, parts)
    // Awaited below or above; one that fails meanwhile is no unhandled rejection.
    write.catch(() => undefined)
    writing.push(write)
  }
  await Promise.all(writing)
  return { batch: batch.id, spooled, quarantined }
}

/** As the model takes a batch. */
export function padded(batch: Batch): ModelInput {
  const rows = batch.rows.length
  const width = Math.max(...batch.rows.map((row) => row.tokens))
  const ids = new BigInt64Array(rows * width)
  let from = 0
  batch.rows.forEach((row, index) => {
    for (let t = 0; t < row.tokens; t++) ids[index * width + t] = BigInt(batch.tokenIds[from + t])
    from += row.tokens
  })
  return { ids, rows, width }
}

function quarantine(
  row: BatchRow,
  bad: readonly number[],
  captures: readonly string[],
): QuarantinedSample {
  const where = bad.flatMap((count, i) => (count > 0 ? [`${captures[i]}: ${count}`] : []))
  return {
    hash: row.hash,
    tokens: row.tokens,
    reason: `values that are NaN or infinite (${where.join(', ')})`,
  }
}

function sampleFile(
  row: BatchRow,
  ids: Int32Array,
  joined: Capture,
  tools: ExtractTools,
): { readonly sample: SampleRef; readonly parts: readonly Uint8Array[] } {
  const parts = encodeSafetensors(
    [
      {
        name: 'hidden_states',
        dtype: ({ bf16: 'BF16', f16: 'F16', f32: 'F32' } as const)[tools.dtype],
        shape: [row.tokens, tools.captures.length, tools.hidden],
        data: bytesOf(joined),
      },
      {
        name: 'token_ids',
        dtype: 'I64',
        shape: [row.tokens],
        data: bytesOf(BigInt64Array.from(ids, BigInt)),
      },
    ],
    tools.metadata,
  )
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
  const sample = { hash: row.hash, tokens: row.tokens, bytes, crc32: crc32OfParts(parts) }
  return { sample, parts }
}

const bytesOf = (array: Capture | BigInt64Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
