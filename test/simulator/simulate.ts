import { basename } from 'node:path'
import type { Log } from '../../src/log.ts'
import { lockKey } from '../../src/manifest/holder.ts'
import { parseSpoolName } from '../../src/spool/name.ts'
import { extracting } from '../../supervisors/job.ts'
import { root } from '../../supervisors/root.ts'
import { Deaths } from './deaths.ts'
import { refusedHalf, unexplained } from './ends.ts'
import { finish } from './finish.ts'
import { leaveFormer, removesFormer } from './former.ts'
import { Holders } from './holders.ts'
import { Invariants, Violation } from './invariants.ts'
import { type Ended, Machine, type MachineParts } from './machine.ts'
import { type Parts, sound } from './parts.ts'
import type { Scenario } from './scenario.ts'
import { SimulatedStore } from './store.ts'
import { Trouble } from './trouble.ts'
import { eachTurn } from './turns.ts'
import type { Workload } from './workload.ts'
import { type Life, World } from './world.ts'

/** One scenario, from the first start to the end of the run or to a broken promise. */

export interface Outcome {
  readonly scenario: Scenario
  /** Undefined where all held. */
  readonly violation: string | undefined
  readonly crashes: number
  readonly steps: number
}

/** As the product writes it. */
export interface ErrorLine {
  readonly msg: string
  readonly child?: string
  readonly elsewhere?: true
  readonly err?: { readonly message: string }
}

export interface SimulateOptions {
  readonly workload: Workload
  /** Writes errors alone, each of which is heard through `heard`. */
  readonly log: Log
  readonly errors: { heard: (line: ErrorLine) => void }
  readonly parts?: Parts
  /** Each line of the event log. */
  readonly listen?: (line: string) => void
}

const startsMax = 200
/** Many times those of the longest run here. */
const stepsMax = 60_000
/** Nothing changes on disk or in the store for so long, and nothing hinders it: it never will. */
const stillMs = 5 * 60_000
/** As long as an extractor may take to load its model, and some. */
const hungMaxMs = 65 * 60_000
/** From the end of a process to its next start, by the launcher or a person. */
const againMs = 1_000

export async function simulate(scenario: Scenario, options: SimulateOptions): Promise<Outcome> {
  const simulation = new Simulation(scenario, options)
  options.errors.heard = (line) => simulation.heard(line)
  const violation = await simulation.end()
  const { crashes, world } = simulation
  return { scenario, violation, crashes, steps: world.steps }
}

class Simulation {
  readonly world: World
  readonly #scenario: Scenario
  readonly #workload: Workload
  readonly #store: SimulatedStore
  readonly #machine: Machine
  readonly #invariants: Invariants
  readonly #deaths: Deaths
  readonly #trouble: Trouble
  /** By hash: the ledger that named it in a segment. */
  readonly #committedBy = new Map<string, Life>()
  readonly #holders = new Holders()
  readonly #machineParts: Omit<MachineParts, 'name' | 'onDeath'>
  /** Where someone runs the same as well. */
  #second: Machine | undefined
  readonly #hanging = new Set<Life>()
  #extractorDeaths = 0
  #movedAt = 0
  #starts = 0
  #isOver = false

  constructor(scenario: Scenario, { workload, log, parts = sound, listen }: SimulateOptions) {
    this.#scenario = scenario
    this.#workload = workload
    this.world = new World(scenario.seed, listen)
    const requests = scenario.faults.flatMap((fault) =>
      fault.kind === 'request' ? [[fault.number, fault.fault] as const] : [],
    )
    this.#store = new SimulatedStore(this.world, {
      acknowledges: scenario.acknowledges,
      faults: new Map(requests),
    })
    this.#invariants = new Invariants(workload.expected)
    const { world } = this
    this.#deaths = new Deaths(world)
    this.#machineParts = { world, store: this.#store, workload, parts, log }
    this.#machine = this.#newMachine('', (id) => this.#deaths.note(id))
    if (scenario.hadFormer) leaveFormer(this.#machine.disk, workload.config.work)
    this.#machine.disk.onMissing = (path, life) => this.#missed(path, life)
    this.#store.onChange = (key, bytes, by) => this.#changed(key, { bytes, by })
    this.#store.onAsk = ({ life }) => this.#asked(life.root)
    this.#trouble = new Trouble(scenario, {
      ...{ world, machine: this.#machine, store: this.#store },
      second: (ms) => this.#startSecond(ms),
      hung: (life) => this.#hung(life),
    })
    world.onStep = () => this.#trouble.injectDue()
  }

  #newMachine(name: string, died: (id: string) => void): Machine {
    const machine = new Machine({
      ...this.#machineParts,
      name,
      onDeath: (id, how) => {
        if (id.startsWith('extractor/')) this.#extractorDeaths++
        if (how === 'by itself') died(id)
      },
    })
    machine.disk.onRemove = (path, bytes) => this.#invariants.removed(path, bytes)
    return machine
  }

  get crashes(): number {
    return this.#trouble.crashes
  }

  /** Why a promise is broken; undefined where all held. */
  async end(): Promise<string | undefined> {
    const unhandled = (error: unknown) => this.world.died(this.world.current, error)
    process.on('unhandledRejection', unhandled)
    try {
      this.#start()
      await this.#drive()
      return undefined
    } catch (error) {
      if (error instanceof Violation) return error.message
      throw error
    } finally {
      process.off('unhandledRejection', unhandled)
      for (const machine of [this.#machine, this.#second]) machine?.process?.end('all is over')
      this.world.close()
    }
  }

  #drive(): Promise<void> {
    return eachTurn(() => {
      this.#look()
      if (!this.#isOver && !this.world.next()) throw new Violation('nothing happens any more')
      return this.#isOver
    })
  }

  #look(): void {
    this.#invariants.check()
    if (this.world.steps > stepsMax) throw new Violation('the run does not end')
    const isStill = this.#hanging.size === 0 && this.world.now - this.#movedAt > stillMs
    if (isStill) throw new Violation('the run stands still')
    const bug = this.#second?.ended ? unexplained(this.#second.ended) : undefined
    if (bug !== undefined) throw new Violation(`of two supervisors: ${bug}`)
    const { ended } = this.#machine
    if (ended) this.#processEnded(ended)
  }

  #asked(process: Life): void {
    const { maxParallel } = this.#scenario
    const open = this.#store.openOf((life) => life.root === process)
    if (open > maxParallel)
      this.#invariants.broken(`requests open at once: ${open} of ${maxParallel}`)
  }

  #startSecond(ms: number): void {
    if (this.#second?.process?.alive) return
    const second = this.#newMachine('elsewhere', () => undefined)
    this.#second = second
    second.start()
    this.world.plan(ms, null, () => second.process?.end('goes away'))
  }

  #hung(life: Life): void {
    this.#hanging.add(life)
    life.onEnd((error) => {
      this.#hanging.delete(life)
      this.#movedAt = this.world.now
      if (error === undefined) this.#deaths.note(life.name.split('#', 1)[0] ?? '')
    })
    this.world.plan(hungMaxMs, null, () => {
      if (life.alive) this.#invariants.broken(`${life.name} hangs, and nobody ends it`)
    })
  }

  /** A line that an actor, or the process, has written of an error. */
  heard({ msg, child, err, elsewhere }: ErrorLine): void {
    if (msg !== 'gave up' || child === undefined || elsewhere) return
    const wrong = this.#deaths.judge(child, err?.message ?? '')
    if (wrong !== undefined) this.#invariants.broken(wrong)
  }

  #changed(key: string, { bytes, by }: { bytes: Buffer | undefined; by: Life | null }): void {
    const before = this.#invariants.committed.size
    this.#invariants.changed(key, bytes)
    const taken = this.#holders.changed(key, bytes, by)
    if (taken !== undefined) this.#invariants.broken(taken)
    if (key !== lockKey) this.#movedAt = this.world.now
    if (this.#invariants.committed.size === before || !by) return
    for (const hash of this.#invariants.committed.keys()) {
      if (!this.#committedBy.has(hash)) this.#committedBy.set(hash, by)
    }
  }

  /** Whoever is sent for a file that is not there was lent it by someone who knew better. */
  #missed(path: string, life: Life): void {
    const hash = parseSpoolName(basename(path))?.hash ?? ''
    const ledger = this.#committedBy.get(hash)
    const isSame = ledger?.alive && ledger === this.#machine.actors.get('ledger')
    if (isSame && this.#invariants.committed.get(hash)?.status === 'stored') {
      this.#invariants.broken(`${life.name} was lent what was committed. hash=${hash}`)
    }
  }

  #start(): void {
    this.#movedAt = this.world.now
    this.#deaths.begin(root(this.#workload.prepared, extracting))
    if (this.#starts++ === startsMax) throw new Violation('the run is started again and again')
    this.#machine.start()
  }

  #processEnded(ended: Ended): void {
    this.#machine.ended = null
    const half = refusedHalf(ended, this.#store.halves)
    if (half !== undefined) this.#store.removeHalf(half)
    const isMended = half !== undefined || this.#removesFormer(ended)
    const bug = isMended ? undefined : unexplained(ended)
    if (bug !== undefined) throw new Violation(bug)
    const isDone = ended.kind === 'result' && ended.result.code <= 1
    if (!isDone) {
      this.world.plan(againMs * (1 + this.world.draw()), null, () => this.#start())
      return
    }
    const broken = finish({
      scenario: this.#scenario,
      workload: this.#workload,
      invariants: this.#invariants,
      disk: this.#machine.disk,
      code: ended.result.code,
      extractorDeaths: this.#extractorDeaths,
    })
    if (broken !== undefined) throw new Violation(broken)
    this.#isOver = true
  }
  #removesFormer(ended: Ended): boolean {
    const refused = unexplained(ended)?.includes('samples of another run') ?? false
    return refused && removesFormer(this.#machine.disk, this.#workload.config.work)
  }
}
