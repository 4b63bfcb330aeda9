import { LearntDeadline } from '../../protocol/learnt-deadline.ts'
import type { ledgerContract } from '../../protocol/ledger.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { Pulse } from '../../protocol/pulse.ts'
import type { NextBatch, readerContract } from '../../protocol/reader.ts'
import type { Batch } from '../../protocol/sample.ts'
import { type Clock, sleep, systemClock } from '../../src/clock.ts'
import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { StoredDType } from '../../src/models/hidden-states.ts'
import { probe } from '../../src/probe.ts'
import { sampleBytesMax } from '../../src/sample/encode.ts'
import type { Claims } from '../../src/spool/claims.ts'
import { Keeper, type KeeperParts } from '../../src/spool/keep.ts'
import type { FinishedSample } from '../../src/spool/spool.ts'
import { batchMs } from './deadline.ts'
import { extract } from './extract.ts'
import type { Extracted } from './machine.ts'
import type { LoadedModel } from './model.ts'

/** Between two tries to write a claim on a disk that was full. */
const claimPauseMs = 1000

export interface StepParts extends Omit<KeeperParts, 'clock' | 'onWait'> {
  readonly id: string
  readonly dtype: StoredDType
  readonly model: LoadedModel
  readonly claims: Claims
  readonly reader: Peer<typeof readerContract>
  readonly ledger: Peer<typeof ledgerContract>
  readonly pulse: Pulse
  readonly log: Log
  readonly clock?: Clock
  /** Milliseconds that only grow; default: the machine's. */
  readonly monotonic?: () => number
}

/** What each state of the extractor's life does. */
export function stepsOf(parts: StepParts) {
  const { claims, clock = systemClock, id, ledger, log, model, pulse, reader } = parts
  const monotonic = parts.monotonic ?? (() => performance.now())
  const deadline = new LearntDeadline(batchMs)
  /** Nothing of what was granted to an earlier start under this name is written any more. */
  let begun: Promise<void> | undefined
  let current = ''
  let waitsFor: string | null = null
  /** Before each batch it is asked for; only where it was refused there is none. */
  let room: 'asked' | 'refused' = 'asked'

  const keeper = new Keeper({
    ...parts,
    clock,
    onWait: (why) => {
      waitsFor = why
      if (why === null) log.info('samples wait no more for room on the disk')
      else log.warn({ why }, 'samples wait for room on the disk')
    },
  })
  /** False where the disk is too full even for that. */
  const claim = async (batch: Batch): Promise<boolean> => {
    try {
      claims.claim(batch.id, { by: id, rows: batch.rows.length })
      return true
    } catch (error) {
      if (!isFailure(error, 'unavailable')) throw error
      log.warn({ reason: explain(error) }, 'a claim waits for room on the disk')
      await sleep(claimPauseMs, clock)
      return false
    }
  }

  const forward: LoadedModel['forward'] = async (input) => {
    const started = monotonic()
    pulse.busy(`${current}: ${input.rows} rows of ${input.width} tokens`, deadline.ms)
    probe('extractor.busy')
    const captures = await model.forward(input)
    pulse.idle()
    deadline.took(monotonic() - started)
    return captures
  }
  const { captures, hidden, metadata } = model
  const format = { captures, hidden, dtype: parts.dtype, metadata }
  const tools = { ...format, forward, keep: (sample: FinishedSample) => keeper.keep(sample) }

  return {
    keepFree: (bytes: number) => keeper.keepFree(bytes),
    ask: async (): Promise<NextBatch> => {
      begun ??= ledger.again((ask) => ask.spooled([]))
      await begun
      return await reader.again((ask) => ask.next())
    },
    /** Room for its samples, and its claim: without that no batch may begin. */
    room: async (batch: Batch): Promise<boolean> => {
      const wanted = batch.rows.filter((row) => row.wanted)
      const bytes = wanted.reduce((sum, row) => sum + sampleBytesMax(row.tokens, format), 0)
      const hasRoom = (await ledger.again((ask) => ask.room({ bytes }))) && (await claim(batch))
      room = hasRoom ? 'asked' : 'refused'
      return hasRoom
    },
    compute: async (batch: Batch): Promise<Extracted> => {
      current = batch.id
      probe('extractor.claimed')
      return await extract(batch, tools)
    },
    tell: async ({ batch, spooled, quarantined }: Extracted): Promise<void> => {
      if (quarantined.length > 0) await ledger.again((ask) => ask.quarantined(quarantined))
      await ledger.again((ask) => ask.spooled(spooled))
      claims.done(batch)
      await reader.again((ask) => ask.done({ batch }))
    },
    work: (state: string): string => {
      if (state === 'waitingForRoom') return roomWords[room]
      if (state !== 'computing') return words[state] ?? state
      return waitsFor === null ? `computing ${current}` : `${current} waits: ${waitsFor}`
    },
  }
}

const roomWords = { asked: 'asks for room', refused: 'waits for room in the spool' }

/** States that do not say what they are, in more words. */
const words: Readonly<Record<string, string>> = {
  asking: 'waits for a batch',
  telling: 'hands on what it computed',
}
