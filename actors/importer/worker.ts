import { join } from 'node:path'
import { ledgerContract } from '../../protocol/ledger.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { sourceContract } from '../../protocol/reader.ts'
import { systemClock } from '../../src/clock.ts'
import { RowIndex } from '../../src/dataset/row-index.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { Keeper } from '../../src/spool/keep.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { findFiles } from './find.ts'
import { Importer } from './import.ts'
import type { ImporterInput } from './index.ts'
import { LeftAlone } from './left-alone.ts'
import { Take } from './take.ts'

const self = actor<ImporterInput>()
const { input, log, pulse } = self
const ledger = self.peer('ledger', ledgerContract)
const { path, split, columns } = input.dataset
const dataset = openDataset(path, { split: split ?? null, columns })
const rows = Math.min(dataset.rows, input.limit ?? dataset.rows)
/** Told to drain, it does not wait for room on the disk. */
const draining = new AbortController()
const keeper = new Keeper({
  spool: await openSpool(join(input.work, 'spool')),
  keepFree: input.keepFree,
  clock: systemClock,
  signal: draining.signal,
  onWait: (why) => {
    if (why === null) log.info('samples wait no more for room on the disk')
    else log.warn({ why }, 'samples wait for room on the disk')
  },
})
const index = new RowIndex({
  dataset,
  lengths: dataset.lengths(),
  rows,
  limits: { vocab: input.vocab, maxTokens: input.maxTokens },
  clock: systemClock,
  onProgress: (hashed) => pulse.beat(`${hashed} of ${rows} rows hashed`),
})
const importer = new Importer({
  files: await findFiles(input.dir),
  take: new Take({ ...input, rows: index, keeper }),
  leftAlone: new LeftAlone(input.leftAlone, log),
  clock: systemClock,
  log,
  maxBytes: input.maxBytes,
  known: () => ledger.again((ask) => ask.known()),
  room: (bytes) => ledger.again((ask) => ask.room({ bytes })),
  spooled: (samples) => ledger.again((ask) => ask.spooled(samples)),
  settled: () => ledger.again((ask) => ask.settled()),
})

self.serve(sourceContract, () => ({
  pause: (paused) => importer.pause(paused),
  status: () => importer.status(),
}))
const running = importer.run()
self.live({
  drain: async () => {
    importer.drain()
    draining.abort()
    await running
  },
  status: () => ({ work: importer.work }),
})
