import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { faultyParts } from './faulty.ts'
import { type Parts, sound } from './parts.ts'
import { type Scenario, scenarioOf } from './scenario.ts'
import { shrink } from './shrink.ts'
import { type ErrorLine, type Outcome, simulate } from './simulate.ts'
import { Workloads } from './workload.ts'

/**
 * `npm run simulate -- --seeds N [--from SEED] [--faulty NAME | all] [--twice]`: so many runs, each
 * with what its seed lets go wrong. The first that breaks a promise is cut down and told; exit
 * code 1. With a faulty part it is the other way round: each must be found.
 */
const { values: options } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '0' },
    faulty: { type: 'string' },
    /** Each seed is run twice, and must come to the same event log. */
    twice: { type: 'boolean', default: false },
  },
})
const [first, count] = [Number(options.from), Number(options.seeds)]

const errors = { heard: (_: ErrorLine): void => undefined }
const log = pino(
  { level: 'error' },
  // As pino itself wrote it.
  { write: (line: string) => errors.heard(JSON.parse(line) as ErrorLine) },
)
const workloads = await Workloads.open()
const say = (text: string) => process.stdout.write(`${text}\n`)

const run = (scenario: Scenario, parts: Parts, listen?: (line: string) => void): Promise<Outcome> =>
  simulate(scenario, {
    workload: workloads.of(scenario),
    log,
    errors,
    parts,
    ...(listen && { listen }),
  })

/** The first seed that breaks a promise. */
async function search(
  parts: Parts,
  requestFaults?: number,
): Promise<{ failing?: Outcome; crashes: number; steps: number }> {
  let [crashes, steps] = [0, 0]
  for (let seed = first; seed < first + count; seed++) {
    const scenario = scenarioOf(seed, requestFaults)
    const outcome = await run(scenario, parts)
    crashes += outcome.crashes
    steps += outcome.steps
    if (outcome.violation !== undefined) return { failing: outcome, crashes, steps }
    if (options.twice && (await run(scenario, parts)).digest !== outcome.digest) {
      const violation = 'the same seed came to another event log'
      return { failing: { ...outcome, violation }, crashes, steps }
    }
  }
  return { crashes, steps }
}

async function tell({ scenario, violation }: Outcome, parts: Parts): Promise<void> {
  say(`seed ${scenario.seed}: ${violation}`)
  const kindOf = (text: string | undefined) => text?.split(/[.:]/)[0]
  const least = await shrink(
    scenario,
    async (smaller) => kindOf((await run(smaller, parts)).violation) === kindOf(violation),
  )
  say(`cut down to ${JSON.stringify(least)}; its event log:`)
  await run(least, parts, say)
}

/** More than else: what breaks by one request out of a hundred is found sooner. */
const requestFaultsOfFaulty = 32

async function findEach(names: readonly string[]): Promise<boolean> {
  let isEachFound = true
  for (const name of names) {
    const parts = faultyParts[name]
    if (!parts) throw new Error(`no such part. There are: ${Object.keys(faultyParts).join(', ')}`)
    const { failing } = await search(parts, requestFaultsOfFaulty)
    say(`${name}: ${failing ? `seed ${failing.scenario.seed}, ${failing.violation}` : 'NOT FOUND'}`)
    isEachFound &&= failing !== undefined
  }
  return isEachFound
}

async function findNone(): Promise<boolean> {
  const begun = process.cpuUsage()
  const { failing, crashes, steps } = await search(sound)
  if (failing) await tell(failing, sound)
  const { user, system } = process.cpuUsage(begun)
  const seconds = (user + system) / 1e6
  const each = Math.round((crashes / seconds) * 60)
  const time = `${seconds.toFixed(1)} s of a core`
  say(`${crashes} crashes, ${steps} steps, ${time}: ${each} crashes a minute`)
  return failing === undefined
}

const { faulty } = options
const names = faulty === 'all' ? Object.keys(faultyParts) : [faulty ?? []].flat()
const isWell = names.length > 0 ? await findEach(names) : await findNone()
await workloads.close()
process.exitCode = isWell ? 0 : 1
