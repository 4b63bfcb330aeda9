import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Pool } from './pool.ts'
import type { Found } from './search.ts'

/**
 * `npm run simulate -- --seeds N [--from SEED] [--workers K] [--faulty NAME | all] [--twice]`: so
 * many runs, each with what its seed lets go wrong. The first that breaks a promise is cut down and
 * told; exit code 1. With a faulty part it is the other way round: each must be found. `NAME@SEED`
 * looks for it from that seed on.
 */
const { values: options } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '0' },
    /** Threads; default: one for each core. */
    workers: { type: 'string', default: `${availableParallelism()}` },
    /** Any number of them. */
    faulty: { type: 'string', multiple: true },
    /** Each seed is run again, and must come to the same event log. */
    twice: { type: 'boolean', default: false },
  },
})
/** @throws Error: nothing must pass where nothing was run */
function whole(name: 'seeds' | 'from' | 'workers', least: number): number {
  const text = options[name]
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
  throw new Error(`no such number. option=--${name}, want=${least} or more, found=${text}`)
}

const from = whole('from', 0)
const count = whole('seeds', 1)
const seeds = { from, to: from + count, part: null, twice: options.twice }
const say = (text: string) => process.stdout.write(`${text}\n`)
const pool = new Pool(Math.max(1, Math.min(whole('workers', 1), count)))

const begun = performance.now()
const minuteMs = 60_000

/** Tells of seeds and crashes so far, each minute. */
function progress(): (done: number, sum: Found) => void {
  let minutes = 0
  return (done, { crashes }) => {
    const now = Math.floor((performance.now() - begun) / minuteMs)
    if (now > minutes) say(`after ${now} min: ${done} of ${count} seeds, ${crashes} crashes`)
    minutes = now
  }
}

async function findNone(): Promise<boolean> {
  const before = process.cpuUsage()
  const { failing, crashes, steps } = await pool.search(seeds, progress())
  if (failing) {
    for (const line of await pool.tell(failing, null)) say(line)
    return false
  }
  const { user, system } = process.cpuUsage(before)
  const seconds = (user + system) / 1e6
  const each = Math.round((crashes / seconds) * 60)
  const time = `${seconds.toFixed(1)} s of a core`
  say(`${crashes} crashes, ${count} seeds, ${steps} steps, ${time}: ${each} crashes a minute`)
  return true
}

async function findEach(names: readonly string[]): Promise<boolean> {
  let isEachFound = true
  for (const name of names) {
    const [part = '', first = `${seeds.from}`] = name.split('@')
    const where = { from: Number(first), to: Number(first) + count }
    const { failing } = await pool.search({ ...seeds, ...where, part })
    say(`${part}: ${failing ? `seed ${failing.seed}, ${failing.violation}` : 'NOT FOUND'}`)
    isEachFound &&= failing !== null
  }
  return isEachFound
}

async function wellWith(names: readonly string[]): Promise<boolean> {
  const all = await pool.parts()
  const wanted = names.flatMap((name) => (name === 'all' ? all : [name]))
  if (wanted.every((name) => all.includes(name.split('@')[0] ?? ''))) return await findEach(wanted)
  say(`no such part. There are: ${all.join(', ')}`)
  return false
}

const { faulty } = options
const isWell = faulty === undefined ? await findNone() : await wellWith(faulty)
await pool.close()
process.exitCode = isWell ? 0 : 1
