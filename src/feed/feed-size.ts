import { setImmediate as turn } from 'node:timers/promises'
import { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import { missingRows } from '../manifest/missing.ts'
import type { EntryTable } from '../manifest/table.ts'
import type { Course } from './course.ts'
import type { OrderLog } from './order-log.ts'
import { packSamples } from './pack.ts'
import { isHeldOut } from './split.ts'
import type { RowCounts, TrainableRows } from './trainable-rows.ts'

/** What a training's data come to, as far as it is settled. */
export interface FeedSize {
  /** Samples to train on so far, and their tokens. */
  readonly samples: number
  readonly tokens: number
  /** Batches of each epoch; null while the first one still grows. */
  readonly batches: readonly number[] | null
  /** Of the first epoch, should every sample that can be trained on be stored. */
  readonly batchesExpected: number
  /** How many samples the split held out when it was made. */
  readonly heldOut: number
  readonly rows: RowCounts
}

/** Packs every epoch, to count its batches; between two of them others have a turn. */
export async function feedSize(course: Course, rows: TrainableRows): Promise<FeedSize> {
  const { closed, samples, split } = course.log
  const batches: number[] = []
  for (let epoch = 0; closed && epoch < course.epochs; epoch++) {
    await turn()
    batches.push(course.batches(epoch))
  }
  return {
    samples: samples.count,
    tokens: samples.tokens().reduce((sum, tokens) => sum + tokens, 0),
    batches: closed ? batches : null,
    batchesExpected: batches[0] ?? expected(course.log, rows),
    heldOut: split?.heldOut ?? 0,
    rows: rows.counts,
  }
}

/** Batches of so many: the samples that a training would have, were all of them stored. */
const expected = (order: OrderLog, { hashes, tokens }: TrainableRows): number => {
  const bytes = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length)
  const numbers = Uint32Array.from(tokens.keys()).filter(
    (i) => !isHeldOut(order.split, bytes.toString('hex', i * 16, i * 16 + 16)),
  )
  return packSamples(numbers, tokens, order.rule).length
}

/**
 * What a training that waits for no extraction begins on.
 *
 * @param samples  stored, and not held out
 * @throws  Failure `invalid`: fewer samples than were asked for
 */
export function requireEnough(
  samples: number,
  { rows, table, samplesMin, log }: EnoughParts,
): void {
  const missing = missingRows(rows.hashes, table).length
  const facts = { samples, samplesMin, missing }
  if (samples >= (samplesMin ?? 0)) {
    if (missing > 0) log.warn(facts, 'not all samples of the dataset are stored')
    return
  }
  const found = `want=${samplesMin}, found=${samples} to train on, not stored=${missing}`
  throw new Failure('invalid', `the store has fewer samples than were asked for. ${found}`, {
    remedy: 'Extract the rest with `draftsmith run`, or lower train.samplesMin or train.heldOut.',
  })
}

interface EnoughParts {
  readonly rows: TrainableRows
  readonly table: EntryTable
  readonly samplesMin: number | null
  readonly log: Log
}

/** Nothing that is stored can be trained on. */
export function nothingToTrainOn({ counts, count }: TrainableRows, table: EntryTable): Failure {
  const facts =
    `rows=${counts.rows}, can be trained on=${count}, ` +
    `without an anchor=${counts.withoutAnchor}, stored=${table.stored}`
  return new Failure('invalid', `there is no sample to train on. ${facts}`, {
    remedy:
      'Extract first. Where samples have no anchor: see train.anchorRule and train.blockSize.',
  })
}
