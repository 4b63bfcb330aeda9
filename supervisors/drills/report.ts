import { styleText } from 'node:util'
import { formatBytes } from '../../src/config/sizes.ts'
import { fitted } from '../../src/fitted.ts'
import type { Drill } from './drill.ts'
import type { DrillReport } from './hold.ts'
import type { Figures } from './measure.ts'

/** Drills as people read them, on a terminal of 80 columns. */

const columns = 80
const samplesShown = 3
const labelWidth = 10

/** A line each. @param width  of the terminal, which none passes; absent: there is none */
export function listText(drills: readonly Drill[], width = Number.POSITIVE_INFINITY): string {
  const longest = Math.max(...drills.map(({ name }) => name.length))
  return drills
    .map(({ name, breaks, seconds }) => {
      const whole = `${name.padEnd(longest)} ${`${seconds} s`.padStart(6)}  ${breaks}`
      return whole.length <= width ? whole : `${whole.slice(0, width - 1)}…`
    })
    .join('\n')
}

/** Said before it is held. */
export const openingText = ({ name, breaks, matters, seconds }: Drill): string =>
  [
    styleText('bold', name),
    line('breaks', breaks),
    line('matters', matters),
    line('takes', `about ${seconds} s`),
  ].join('\n')

/** Said after it. */
export function reportText({ outcome, reason, checks, figures, seconds }: DrillReport): string {
  if (outcome === 'skipped') return styleText('yellow', line('SKIPPED', reason ?? ''))
  const lines = checks.map(({ what, held, samples }) =>
    held ? line('held', what) : styleText('red', line('BROKEN', `${what}: ${shown(samples)}`)),
  )
  if (reason !== null) lines.push(styleText('red', line('BROKEN', reason)))
  if (figures) lines.push(...figureLines(figures).map(([name, text]) => line(name, text)))
  const verdict = outcome === 'held' ? 'HELD' : 'BROKEN'
  const end = line(verdict, `in ${seconds.toFixed(1)} s`)
  return [...lines, styleText(outcome === 'held' ? 'green' : 'red', end)].join('\n')
}

const line = (label: string, text: string): string =>
  `  ${label.padEnd(labelWidth)}${fitted(text, columns, ' '.repeat(labelWidth + 2))}`

function shown(samples: readonly string[]): string {
  const more = samples.length - samplesShown
  return samples.slice(0, samplesShown).join(', ') + (more > 0 ? `, and ${more} more` : '')
}

function figureLines({ recoverMs, redone, restarts, sentTwice }: Figures): [string, string][] {
  const back = recoverMs.filter((ms) => ms !== null)
  const none = recoverMs.length - back.length
  const lost = none > 0 ? `; no progress after ${none} of ${recoverMs.length}` : ''
  const recovered = back.length > 0 ? `${spread(back)} to the first progress${lost}` : ''
  const batches = counted(redone.batches, 'batch', 'batches')
  const again = `${batches}, ${counted(redone.samples, 'sample')}`
  const started = [
    counted(restarts.actors, 'actor'),
    counted(restarts.processes, 'process', 'processes'),
    counted(restarts.commands, 'command'),
  ].join(', ')
  const twice =
    sentTwice && `${counted(sentTwice.objects, 'object')}, ${formatBytes(sentTwice.bytes)}`
  return [
    ...(recovered === '' ? [] : ([['recovered', recovered]] as [string, string][])),
    ['redone', again],
    ['restarted', started],
    ['resent', twice ?? 'not known: the store is your own'],
  ]
}

function spread(ms: readonly number[]): string {
  const seconds = ms.map((value) => value / 1000).sort((a, b) => a - b)
  const [least, most] = [seconds[0], seconds[seconds.length - 1]].map((value) => value.toFixed(2))
  return seconds.length === 1 ? `${most} s` : `${least} to ${most} s`
}

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

/** After all of them; the counts come last. */
export function summaryText(reports: readonly DrillReport[]): string {
  const of = (outcome: DrillReport['outcome']) =>
    reports.filter((report) => report.outcome === outcome).map(({ name }) => name)
  const broken = of('broken')
  const skippedNames = of('skipped')
  return [
    ...(broken.length > 0 ? [line('broken', broken.join(', '))] : []),
    ...(skippedNames.length > 0 ? [line('skipped', skippedNames.join(', '))] : []),
    `${of('held').length} held, ${broken.length} broken, ${skippedNames.length} skipped`,
  ].join('\n')
}
