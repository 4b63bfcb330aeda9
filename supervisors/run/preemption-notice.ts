import { z } from 'zod'

/**
 * What a notice says. Clouds differ: Amazon answers 404 until there is one, then
 * `{"action": "terminate", "time": "2026-01-01T00:02:00Z"}`, or the time alone; Google answers
 * `FALSE` until it is `TRUE`; Azure answers a list of events, none of which need be of this kind.
 *
 * @source https://docs.aws.amazon.com/AWSEC2/latest/UserGuide, spot-instance-termination-notices
 * @source https://cloud.google.com/compute/docs/instances/create-use-preemptible
 * @source https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
 */

/** A clock may be wrong, or a notice old: a time so far away is not believed. */
const farMs = 86_400_000

const noNotice = /^(false|none)$/i

const actionSchema = z.looseObject({ time: z.string() })
const eventsSchema = z.looseObject({
  Events: z.array(z.looseObject({ EventType: z.string(), NotBefore: z.string().default('') })),
})
const endings = new Set(['Preempt', 'Terminate'])

export interface Moment {
  /** Milliseconds since the epoch, as the machine's clock is set. */
  readonly now: number
  /** Of a notice that does not say when. */
  readonly usualMs: number
}

/** Milliseconds until the machine goes; null: it does not go. */
export function timeLeft(text: string, moment: Moment): number | null {
  const told = text.trim()
  if (noNotice.test(told)) return null
  const value = jsonOf(told)
  const events = eventsSchema.safeParse(value).data?.Events
  if (events) {
    const ending = events.find(({ EventType }) => endings.has(EventType))
    return ending ? until(ending.NotBefore, moment) : null
  }
  return until(actionSchema.safeParse(value).data?.time ?? told, moment)
}

function until(time: string, { now, usualMs }: Moment): number {
  const left = Date.parse(time) - now
  return left > 0 && left < farMs ? left : usualMs
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
