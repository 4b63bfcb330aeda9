import { availableParallelism, cpus } from 'node:os'

/** What a benchmark found, as a table for people and as one JSON document for programs. */

export interface Figure {
  readonly name: string
  readonly unit: 's' | 'ms' | 'MB' | '%' | 'µs' | 'tokens/s' | 'objects/s' | 'MB/s' | '×'
  /** One a repeat, in their order. */
  readonly values: readonly number[]
  /** What this project claims of the median. */
  readonly target?: { readonly below: number } | { readonly atLeast: number }
}

export interface BenchReport {
  readonly bench: string
  /** What was measured on, in whole numbers: rows, tokens, bytes, … */
  readonly sizes: Readonly<Record<string, number>>
  /** How it was measured, a sentence a line. */
  readonly method: readonly string[]
  readonly figures: readonly Figure[]
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Of an even number of values, the median is the mean of the two in the middle. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('nothing was measured')
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const median =
    sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  return { median, min: sorted[0], max: sorted[sorted.length - 1] }
}

export function reportJson({ bench, sizes, method, figures }: BenchReport): string {
  const measured = figures.map(({ name, unit, values, target }) => ({
    name,
    unit,
    ...spreadOf(values),
    values,
    target: target ?? null,
    met: target ? isMet(target, spreadOf(values).median) : null,
  }))
  return JSON.stringify({ bench, machine: machine(), sizes, method, figures: measured })
}

export function reportText({ bench, sizes, method, figures }: BenchReport): string {
  const { cpu, cores, node } = machine()
  const given = Object.entries(sizes).map(([name, value]) => `${whole.format(value)} ${name}`)
  const rows = [['', 'median', 'min – max', 'target'], ...figures.map(rowOf)]
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('   ')
      .trimEnd(),
  )
  return [
    `${bench}: ${given.join(', ')}`,
    `on ${cores} cores of ${cpu}, Node ${node}`,
    '',
    ...table,
    '',
    ...method,
  ].join('\n')
}

function rowOf({ name, unit, values, target }: Figure): string[] {
  const { median, min, max } = spreadOf(values)
  const range = `${decimal(min)} – ${decimal(max)}`
  return [name, `${decimal(median)} ${unit}`, range, target ? verdict(target, unit, median) : '']
}

type Target = NonNullable<Figure['target']>

const isMet = (target: Target, median: number): boolean =>
  'below' in target ? median < target.below : median >= target.atLeast

function verdict(target: Target, unit: Figure['unit'], median: number): string {
  const claim = 'below' in target ? `< ${target.below}` : `≥ ${target.atLeast}`
  return `${claim} ${unit}: ${isMet(target, median) ? 'met' : 'missed'}`
}

const whole = new Intl.NumberFormat('en-US')

/** Three digits that say something. */
const decimal = (value: number): string =>
  value >= 100 ? whole.format(Math.round(value)) : value.toPrecision(3)

const machine = () => ({
  cpu: cpus()[0]?.model.trim() ?? 'an unknown processor',
  cores: availableParallelism(),
  node: process.versions.node,
  system: `${process.platform} ${process.arch}`,
})
