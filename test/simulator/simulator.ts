import { createHash } from 'node:crypto'
import { pino } from 'pino'
import { faultyParts } from './faulty.ts'
import { type Parts, sound } from './parts.ts'
import { type Scenario, scenarioOf } from './scenario.ts'
import type { Chunk, Found } from './search.ts'
import { shrink } from './shrink.ts'
import { type ErrorLine, type Outcome, simulate } from './simulate.ts'
import { Workloads } from './workload.ts'

/** One seed after the other, on this thread. */

/** More than else, for faulty parts: what one request out of a hundred breaks is found sooner. */
const requestFaultsOfFaulty = 32
/** As deep as a person wants to see it. */
const traceLimit = 20

export class Simulator {
  readonly #workloads: Workloads
  readonly #errors = { heard: (_: ErrorLine): void => undefined }
  readonly #log = pino(
    { level: 'error' },
    // As pino itself wrote it.
    { write: (line: string) => this.#errors.heard(JSON.parse(line) as ErrorLine) },
  )

  private constructor(workloads: Workloads) {
    this.#workloads = workloads
  }

  static async open(): Promise<Simulator> {
    return new Simulator(await Workloads.open())
  }

  async close(): Promise<void> {
    await this.#workloads.close()
  }

  /** To the first seed that breaks a promise. */
  async search({ from, to, part, twice }: Chunk): Promise<Found> {
    // Thousands of errors are made on purpose, and nobody reads where.
    Error.stackTraceLimit = 0
    let [crashes, steps] = [0, 0]
    for (let seed = from; seed < to; seed++) {
      const scenario = scenarioFor(seed, part)
      const outcome = await this.#run(scenario, part)
      crashes += outcome.crashes
      steps += outcome.steps
      const violation = outcome.violation ?? (twice ? await this.#differs(scenario, part) : null)
      if (violation !== null) return { crashes, steps, failing: { seed, violation } }
    }
    return { crashes, steps, failing: null }
  }

  /** The seed cut down to what it fails of, and its event log. */
  async tell({ seed, part }: { readonly seed: number; readonly part: string | null }) {
    Error.stackTraceLimit = traceLimit
    const failing = await this.#run(scenarioFor(seed, part), part)
    const kind = kindOf(failing)
    const least = await shrink(
      failing.scenario,
      async (smaller) => kindOf(await this.#run(smaller, part)) === kind,
    )
    const lines = [
      `seed ${seed}: ${failing.violation ?? 'the same seed came to another event log'}`,
      `cut down to ${JSON.stringify(least)}; its event log:`,
    ]
    await this.#run(least, part, (line) => lines.push(line))
    return lines
  }

  async #differs(scenario: Scenario, part: string | null): Promise<string | null> {
    const first = await this.#digest(scenario, part)
    const again = await this.#digest(scenario, part)
    return first === again ? null : 'the same seed came to another event log'
  }

  /** Of the event log. */
  async #digest(scenario: Scenario, part: string | null): Promise<string> {
    const hash = createHash('sha256')
    await this.#run(scenario, part, (line) => hash.update(line))
    return hash.digest('hex')
  }

  #run(scenario: Scenario, part: string | null, listen?: (line: string) => void): Promise<Outcome> {
    return simulate(scenario, {
      workload: this.#workloads.of(scenario),
      log: this.#log,
      errors: this.#errors,
      parts: partsOf(part),
      ...(listen && { listen }),
    })
  }
}

const scenarioFor = (seed: number, part: string | null): Scenario =>
  scenarioOf(seed, part === null ? undefined : requestFaultsOfFaulty)

const kindOf = ({ violation }: Outcome): string | undefined => violation?.split(/[.:]/)[0]

function partsOf(name: string | null): Parts {
  if (name === null) return sound
  const parts = faultyParts[name]
  if (!parts) throw new Error(`no such part. There are: ${Object.keys(faultyParts).join(', ')}`)
  return parts
}
