import type { ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { Pulse } from '../../protocol/pulse.ts'
import type { NextBatch, readerContract } from '../../protocol/reader.ts'
import type { Batch, SampleRef } from '../../protocol/sample.ts'
import { type Clock, sleep, systemClock } from '../../src/clock.ts'
import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { StoredDType } from '../../src/models/hidden-states.ts'
import { probe } from '../../src/probe.ts'
import type { Claims } from '../../src/spool/claims.ts'
import type { Spool } from '../../src/spool/spool.ts'
import { Deadline } from './deadline.ts'
import { extract } from './extract.ts'
import type { Extracted } from './machine.ts'
import type { LoadedModel } from './model.ts'

const diskPauseMs = 1000
/** Header and metadata of a sample file, generously. */
const fileOverheadBytes = 4096

export interface StepParts {
  readonly id: string
  readonly dtype: StoredDType
  readonly model: LoadedModel
  readonly spool: Spool
  readonly claims: Claims
  readonly reader: Peer<typeof readerContract>
  readonly ledger: Peer<typeof ledgerContract>
  readonly pulse: Pulse
  readonly log: Log
  readonly clock?: Clock
}

/** What each state of the extractor's life does. */
export function stepsOf(parts: StepParts) {
  const { claims, clock = systemClock, id, ledger, log, model, pulse, reader, spool } = parts
  const deadline = new Deadline()
  let current = ''

  /**
   * A full disk loses the file that met it, and no more: it is written again when there is room.
   */
  const keep = async (sample: SampleRef, pieces: readonly Uint8Array[]): Promise<void> => {
    for (let tries = 0; ; tries++) {
      try {
        await spool.add({ ...sample, parts: pieces })
        return
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
        if (tries === 0) log.warn({ reason: explain(error) }, 'a sample waits for room on the disk')
        await sleep(diskPauseMs, clock)
      }
    }
  }
  const forward: LoadedModel['forward'] = async (input) => {
    const started = performance.now()
    pulse.busy(`${current}: ${input.rows} rows of ${input.width} tokens`, deadline.ms)
    const captures = await model.forward(input)
    pulse.idle()
    deadline.took(performance.now() - started)
    return captures
  }
  const tools = {
    forward,
    keep,
    captures: model.captures,
    hidden: model.hidden,
    dtype: parts.dtype,
    metadata: model.metadata,
  }
  const bytesPerToken =
    model.captures.length * model.hidden * (parts.dtype === 'f32' ? 4 : 2) +
    BigInt64Array.BYTES_PER_ELEMENT

  return {
    ask: (): Promise<NextBatch> => reader.again((ask) => ask.next()),
    room: (batch: Batch): Promise<boolean> => {
      const tokens = batch.rows.reduce((sum, row) => sum + (row.wanted ? row.tokens : 0), 0)
      const bytes = tokens * bytesPerToken + batch.rows.length * fileOverheadBytes
      return ledger.again((ask) => ask.room({ bytes }))
    },
    compute: async (batch: Batch): Promise<Extracted> => {
      current = batch.id
      claims.claim(batch.id, { by: id, rows: batch.rows.length })
      probe('extractor.claimed')
      return await extract(batch, tools)
    },
    tell: async ({ batch, spooled, quarantined }: Extracted): Promise<void> => {
      if (quarantined.length > 0) await ledger.again((ask) => ask.quarantined(quarantined))
      await ledger.again((ask) => ask.spooled(spooled))
      claims.done(batch)
      await reader.again((ask) => ask.done({ batch }))
    },
    work: (state: string): string => (state === 'computing' ? `computing ${current}` : state),
  }
}
