import { join } from 'node:path'
import type { ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import { systemClock } from '../../src/clock.ts'
import { datasetFingerprint } from '../../src/dataset/fingerprint.ts'
import type { RowHashes } from '../../src/dataset/row-hashes.ts'
import { RowIndex } from '../../src/dataset/row-index.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import type { Log } from '../../src/log.ts'
import { openRowHashes } from '../../src/run/kept-hashes.ts'
import { findFiles } from '../../src/sample/find.ts'
import { Keeper } from '../../src/spool/keep.ts'
import { openSpool } from '../../src/spool/spool.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { Importer } from './import.ts'
import type { ImporterInput } from './index.ts'
import { LeftAlone } from './left-alone.ts'
import { Take } from './take.ts'

export interface OpenParts {
  readonly ledger: Peer<typeof ledgerContract>
  readonly store: ObjectStore
  readonly log: Log
  /** From its abort on nothing waits for room on the disk any more. */
  readonly signal: AbortSignal
  /** Told while the dataset's rows are hashed, which may take a minute. */
  readonly onHashed: (rows: number) => void
}

export interface OpenedImporter {
  readonly importer: Importer
  readonly keeper: Keeper
  /** Of the rows that were looked at, here or by earlier starts. */
  readonly hashes: RowHashes
}

/** Finds the files, and opens dataset and spool; looks into neither. */
export async function openImporter(
  input: ImporterInput,
  parts: OpenParts,
): Promise<OpenedImporter> {
  const { ledger, log } = parts
  const clock = systemClock
  const { rows, hashes } = await openRows(input, parts)
  const keeper = new Keeper({
    spool: await openSpool(join(input.work, 'spool')),
    keepFree: input.keepFree,
    clock,
    signal: parts.signal,
    onWait: (why) => {
      if (why === null) log.info('samples wait no more for room on the disk')
      else log.warn({ why }, 'samples wait for room on the disk')
    },
  })
  const importer = new Importer({
    files: await findFiles(input.dir),
    take: new Take({ ...input, rows, keeper }),
    leftAlone: new LeftAlone(input.leftAlone, log),
    clock,
    log,
    maxBytes: input.maxBytes,
    present: () => ledger.again((ask) => ask.present()),
    room: (bytes) => ledger.again((ask) => ask.room({ bytes })),
    spooled: (samples) => ledger.again((ask) => ask.spooled(samples)),
    settled: () => ledger.again((ask) => ask.settled()),
  })
  return { importer, keeper, hashes }
}

async function openRows(
  input: ImporterInput,
  { store, log, onHashed }: Pick<OpenParts, 'store' | 'log' | 'onHashed'>,
): Promise<{ readonly rows: RowIndex; readonly hashes: RowHashes }> {
  const { path, split, columns } = input.dataset
  const dataset = openDataset(path, { split: split ?? null, columns })
  const lengths = dataset.lengths()
  const fingerprint = datasetFingerprint(dataset, lengths, columns.inputIds)
  const of = { rows: dataset.rows, fingerprint }
  const hashes = await openRowHashes(of, { work: input.work, store }, log)
  const rows = new RowIndex({
    dataset,
    hashes,
    lengths,
    rows: Math.min(dataset.rows, input.limit ?? dataset.rows),
    limits: { vocab: input.vocab, maxTokens: input.maxTokens },
    clock: systemClock,
    onProgress: onHashed,
  })
  return { rows, hashes }
}
