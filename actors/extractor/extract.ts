import type { Batch, QuarantinedSample, SampleRef } from '../../protocol/sample.ts'
import { probe } from '../../src/probe.ts'
import { encodeSample, type SampleFormat } from '../../src/sample/encode.ts'
import { nonFinite, nonFiniteText } from '../../src/sample/finite.ts'
import type { FinishedSample } from '../../src/spool/spool.ts'
import { type Capture, type CaptureShape, joinLayers, sizeFault } from './capture.ts'
import type { Extracted } from './machine.ts'

/** A padded batch for the model: token ids [rows, width], row-major, padded on the right with 0. */
export interface ModelInput {
  readonly ids: BigInt64Array
  readonly rows: number
  readonly width: number
}

export interface ExtractTools extends SampleFormat {
  /** Runs the target: one capture a layer, in the order of `captures`. */
  readonly forward: (input: ModelInput) => Promise<readonly Capture[]>
  /** Puts a whole file into the spool; waits where the disk is full. False: it was given up. */
  readonly keep: (sample: FinishedSample) => Promise<boolean>
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
  const quarantined: QuarantinedSample[] = []
  const files: Promise<SampleRef | null>[] = []
  let offset = 0
  for (const [index, row] of batch.rows.entries()) {
    const ids = batch.tokenIds.subarray(offset, offset + row.tokens)
    offset += row.tokens
    if (!row.wanted) continue
    const joined = joinLayers(captures, shape, { index, tokens: row.tokens })
    const bad = nonFinite(joined, { layers: captures.length, hidden: tools.hidden }, tools.dtype)
    if (bad) {
      const { hash, tokens } = row
      quarantined.push({ hash, tokens, reason: nonFiniteText(bad, tools.captures) })
      continue
    }
    await files.at(-writesMax)
    const file = keep(encodeSample({ hash: row.hash, ids, states: bytesOf(joined) }, tools), tools)
    // Awaited below or above; one that fails meanwhile is no unhandled rejection.
    file.catch(() => undefined)
    files.push(file)
  }
  const spooled = (await Promise.all(files)).filter((sample) => sample !== null)
  return { batch: batch.id, spooled, quarantined }
}

async function keep(file: FinishedSample, tools: ExtractTools): Promise<SampleRef | null> {
  const { parts: _, ...sample } = file
  return (await tools.keep(file)) ? sample : null
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

const bytesOf = (array: Capture): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
