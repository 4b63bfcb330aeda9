import { type Clock, sleep, within } from '../../src/clock.ts'
import { isFailure } from '../../src/failure.ts'

/** Kept for the last commit, and for the end of what cannot finish. */
const reserveMsMax = 10_000

export interface DrainInTime {
  readonly clock: Clock
  /** Nothing new is begun. */
  readonly pause: () => Promise<void>
  /** What the store has by now comes into the manifest. */
  readonly commit: () => Promise<void>
  /** What is under way ends; what is trained is saved. Not waited for. */
  readonly drain: () => void
  /** Nothing is waited for any more. */
  readonly hurry: () => void
  /** The process ends where it stands. */
  readonly die: () => void
}

/**
 * An orderly stop of a machine that goes in so long. What is stored is committed first, for without
 * its line in the manifest it would be computed again; then all drains, a training's checkpoint
 * with it. What has not ended shortly before the end is left, but for a last commit.
 */
export async function drainInTime(leftMs: number, parts: DrainInTime): Promise<void> {
  const { clock, commit, die, drain, hurry, pause } = parts
  const end = clock.now() + leftMs
  const reserveMs = Math.min(reserveMsMax, leftMs / 4)
  await tried(pause(), reserveMs, clock)
  await tried(commit(), reserveMs, clock)
  drain()
  await sleep(Math.max(0, end - reserveMs - clock.now()), clock)
  await tried(commit(), reserveMs / 2, clock)
  hurry()
  await sleep(Math.max(0, end - clock.now()), clock)
  die()
}

/** One that is away, or takes too long, keeps nothing else from being saved. */
async function tried(work: Promise<void>, ms: number, clock: Clock): Promise<void> {
  try {
    await within(ms, 'what is done first', work, clock)
  } catch (error) {
    if (!isFailure(error)) throw error
  }
}
