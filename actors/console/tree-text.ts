import type { ActorStatus, RunStatus } from '../../protocol/console.ts'
import { fitted } from '../../src/fitted.ts'
import { eta } from './numbers.ts'
import { queuesOf } from './queues.ts'

/** The tree, an actor a line: its state, since when, its restarts, its queues, what it is at. */

type Row = readonly string[]

const header: Row = ['actor', 'state', 'for', 'restarts', 'in', 'out', 'at']
/** Between two columns, where there is room for the second. */
const gaps = { narrow: 1, wide: 2 }

export function treeText(status: RunStatus, columns: number): string {
  if (!status.actors) return 'No actor has been started yet.'
  const lines = linesOf(status.actors, 0, status)
  const widths = header.slice(0, -1).map((name, at) => {
    return Math.max(name.length, ...lines.map(({ row }) => row[at].length))
  })
  const wide = { widths, gap: gaps.wide }
  const longest = Math.max(...lines.map(({ row }) => aligned(row.slice(0, -1), wide).length))
  const as = longest <= columns ? wide : { widths, gap: gaps.narrow }
  const all = lines.flatMap(({ row, cause }) => [
    ...textOf(row, as, columns),
    ...(cause === null ? [] : [fitted(`        last: ${cause}`, columns, '          ')]),
  ])
  const [head] = textOf(header, as, columns)
  return [head, ...all].join('\n')
}

interface Layout {
  readonly widths: readonly number[]
  readonly gap: number
}

interface Line {
  readonly row: Row
  readonly cause: string | null
}

function linesOf(actor: ActorStatus, depth: number, of: RunStatus): Line[] {
  const { busy, forMs, id, lastCause, pid, restarts, state } = actor
  const queues = queuesOf(actor, of)
  // An uploader says of its work what stands under `out`.
  const work = busy?.work ?? (queues.out === actor.work ? '' : actor.work)
  const own = pid === null ? work : `pid ${pid}${work === '' ? '' : `, ${work}`}`
  const row = [
    `${'  '.repeat(depth)}${id}`,
    state,
    eta(forMs / 1000),
    restarts === 0 ? '' : String(restarts),
    queues.in,
    queues.out,
    own,
  ]
  const children = actor.children.flatMap((child) => linesOf(child, depth + 1, of))
  return [{ row, cause: lastCause }, ...children]
}

/** What it is at stands beside the rest where there is room, else below it. */
function textOf(row: Row, as: Layout, columns: number): string[] {
  const whole = aligned(row, as)
  if (whole.length <= columns) return [whole]
  const work = row.at(-1) ?? ''
  const beside = aligned(row.slice(0, -1), as)
  return [
    cut(beside, columns),
    ...(work === '' ? [] : [fitted(`        at: ${work}`, columns, '          ')]),
  ]
}

const aligned = (row: Row, { gap, widths }: Layout): string =>
  row
    .map((text, at) => text.padEnd((widths[at] ?? 0) + gap))
    .join('')
    .trimEnd()

const cut = (line: string, columns: number): string =>
  line.length <= columns ? line : `${line.slice(0, columns - 1)}…`
