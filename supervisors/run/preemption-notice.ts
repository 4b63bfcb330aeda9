import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { PreemptionConfig } from '../../src/config/schema.ts'
import { hasCode } from '../../src/failure.ts'

/**
 * What a notice says. Clouds differ: Amazon answers 404 until there is one, then
 * `{"action": "terminate", "time": "2026-01-01T00:02:00Z"}`, or the time alone, in place of which
 * may stand what is no time, and no notice; Google answers `FALSE` until it is `TRUE`, and of
 * maintenance `NONE` until it names what comes; Azure answers a list of events, none of which need
 * be of this kind, or of this machine: those of a whole scale set are told to each. What else
 * answers in their place, such as a proxy's page, tells nothing.
 *
 * @source https://docs.aws.amazon.com/AWSEC2/latest/UserGuide, spot-instance-termination-notices
 * @source https://cloud.google.com/compute/docs/instances/create-use-preemptible
 * @source https://cloud.google.com/compute/docs/metadata/getting-live-migration-notice
 * @source https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
 */

/** A clock may be wrong, or a notice old: a time so far away is not believed. */
const farMs = 86_400_000

/** A machine that migrates goes on elsewhere, as it is. */
const noNotice = /^(false|none|migrate_on_host_maintenance)$/i
const bareNotice = /^(true|terminate_on_host_maintenance)$/i
/** JavaScript finds a date in many a text. */
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/

const actionSchema = z.looseObject({
  action: z.enum(['hibernate', 'stop', 'terminate']),
  time: z.string(),
})
const eventsSchema = z.looseObject({
  Events: z.array(
    z.looseObject({
      EventType: z.string(),
      NotBefore: z.string().default(''),
      Resources: z.array(z.string()).default([]),
    }),
  ),
})
const endings = new Set(['Preempt', 'Terminate'])

/** Where a notice is looked for: one of them. */
export type NoticePlace = Pick<PreemptionConfig, 'file' | 'url'>

/** `at http://…`, `in FILE`. */
export const placeText = ({ file, url }: NoticePlace): string =>
  file === undefined ? `at ${url}` : `in ${file}`

export interface Moment {
  /** Milliseconds since the epoch, as the machine's clock is set. */
  readonly now: number
  /** Of a notice that does not say when. */
  readonly usualMs: number
  /** The machine's name, as events tell it; null: not known, and each event may be its own. */
  readonly machine: string | null
}

/** Milliseconds until the machine goes; null: it does not go; `unclear`: this is no such answer. */
export function timeLeft(text: string, moment: Moment): number | null | 'unclear' {
  const told = text.trim()
  if (noNotice.test(told)) return null
  const value = jsonOf(told)
  const events = eventsSchema.safeParse(value).data?.Events
  if (events) {
    const ending = events.find(
      ({ EventType, Resources: of }) => endings.has(EventType) && isAmong(moment.machine, of),
    )
    return ending ? until(ending.NotBefore, moment) : null
  }
  const action = actionSchema.safeParse(value).data
  if (action) return until(action.time, moment)
  return bareNotice.test(told) || isoTime.test(told) ? until(told, moment) : 'unclear'
}

/** The same of a file's text: a file is a notice by being there, whatever else it says. */
export function timeLeftByFile(text: string, moment: Moment): number | null {
  const left = timeLeft(text, moment)
  return left === 'unclear' ? moment.usualMs : left
}

/** The time left by the file; null where none is there, or it says that there is no notice. */
export async function timeLeftIn(file: string, moment: Moment): Promise<number | null> {
  try {
    return timeLeftByFile(await readFile(file, 'utf8'), moment)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

/** Of a notice that is read now; the machine's name is not asked for. */
export const momentNow = ({ noticeSeconds }: PreemptionConfig): Moment => ({
  now: Date.now(),
  usualMs: noticeSeconds * 1000,
  machine: null,
})

const isAmong = (machine: string | null, machines: readonly string[]): boolean =>
  machine === null || machines.length === 0 || machines.includes(machine)

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
