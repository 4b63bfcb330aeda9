import { transfer } from '../../protocol/channel.ts'
import type { Handlers } from '../../protocol/contract.ts'
import type { LoaderStatus, loaderContract, NextTraining } from '../../protocol/loader.ts'
import { buffersOf } from '../../src/feed/training-batch.ts'
import { probe } from '../../src/probe.ts'
import type { OpenedFeed } from './open.ts'

/** What a loader answers; the same to all who ask. */
export function answers(opened: OpenedFeed): Handlers<typeof loaderContract> {
  const { feed, whyAway } = opened
  let given: number | null = null
  const next = async (training: string, plan: number): Promise<NextTraining> => {
    const fed = feed.training === training ? await feed.next(plan) : 'unbegun'
    if (fed === 'later') return { kind: 'later', why: whyAway() }
    if (typeof fed === 'string') return { kind: fed }
    given = plan
    probe('loader.lent')
    return transfer({ kind: 'batch', batch: fed }, buffersOf(fed))
  }
  return {
    begin: ({ training, record }) => feed.begin(training, record),
    next: ({ training, plan }) => next(training, plan),
    heldOut: async ({ training, batch: number }) => {
      if (feed.training !== training) return { kind: 'unbegun' }
      const batch = await feed.heldOut(number)
      return batch ? transfer({ kind: 'batch', batch }, buffersOf(batch)) : { kind: 'finished' }
    },
    record: ({ training }) => {
      if (feed.training !== training) return { kind: 'unbegun' }
      const record = feed.record()
      return transfer({ kind: 'record', record }, [record.buffer])
    },
    extractionEnded: () => feed.extractionEnded(),
    status: () => statusOf(opened, given),
  }
}

const statusOf = (
  { feed, whyAway, reader, cache, leftOut }: OpenedFeed,
  plan: number | null,
): LoaderStatus => ({
  ...feed.status(),
  plan,
  away: whyAway(),
  read: { ...reader.counts },
  leftOut: { samples: leftOut.count, latest: leftOut.latest },
  cacheBytes: cache?.bytes ?? 0,
})
