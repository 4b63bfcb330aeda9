import type { SupervisorSpec } from '../../protocol/child.ts'
import type { Log } from '../../src/log.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { Start, Vessel } from '../../supervisors/engine/vessel.ts'
import { extraction } from '../../supervisors/extraction.ts'
import type { Job } from '../../supervisors/job.ts'
import { extracting } from '../../supervisors/job.ts'
import type { RunResult } from '../../supervisors/run/result.ts'
import { RunProcess } from '../../supervisors/run/run.ts'
import type { RunSurroundings } from '../../supervisors/run/surroundings.ts'
import { SimulatedDisk } from './disk.ts'
import type { Parts } from './parts.ts'
import { portPair } from './ports.ts'
import type { SimulatedStore } from './store.ts'
import { SimulatedVessel } from './vessel.ts'
import type { Workload } from './workload.ts'
import { Life, type World } from './world.ts'

/** A machine with its disk, and one process of the run after the other on it. */

/** How a process came to its end. */
export type Ended =
  | { readonly kind: 'result'; readonly result: RunResult }
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'died'; readonly error: unknown }

export interface MachineParts {
  readonly world: World
  readonly store: SimulatedStore
  readonly workload: Workload
  readonly parts: Parts
  readonly log: Log
  /** What tells it from other machines, in a lock and in the event log. */
  readonly name: string
  /** An actor ended by itself, or was ended. */
  readonly onDeath: (id: string, how: 'by itself' | 'by order') => void
}

const loadMsMax = 2 * 60_000

export class Machine {
  readonly disk: SimulatedDisk
  readonly #parts: MachineParts
  /** What tells machines apart in a lock: a new disk is a new machine. */
  #host = 0
  #boots = 0
  #pids = 100
  /** Milliseconds by which its clock is wrong. */
  #clockOff = 0
  readonly #vessels = new Map<Life, Vessel>()
  process: Life | null = null
  #run: RunProcess | null = null
  /** Each actor's newest life. */
  readonly actors = new Map<string, Life>()
  ended: Ended | null = null

  constructor(parts: MachineParts) {
    const { log, name } = parts
    this.#parts = { ...parts, log: name === '' ? log : log.child({ elsewhere: true }) }
    this.disk = new SimulatedDisk(parts.world)
  }

  start(): void {
    const { world, workload } = this.#parts
    const pid = ++this.#pids
    const life = new Life(world, `process ${pid}${this.#suffix}`)
    this.process = life
    this.ended = null
    this.actors.clear()
    this.#vessels.clear()
    life.onEnd((error) => {
      this.ended ??= { kind: 'died', error }
    })
    this.disk.makeFolder(workload.config.work)
    world.plan(0, life, () => {
      world.tell(() => 'a process starts')
      const run = new RunProcess(workload.config, {
        lastWords: () => undefined,
        job: this.#job(life),
        amend: async (_, prepared) => prepared,
        around: this.#around(life, pid),
      })
      this.#run = run
      run.run().then(
        (result) => this.#over(life, { kind: 'result', result }),
        (error: unknown) => this.#over(life, { kind: 'refused', error }),
      )
    })
  }

  /** Actors that live, in the order of their start. */
  get living(): Life[] {
    return [...this.actors.values()].filter((life) => life.alive)
  }

  /** It has said that it is ready, and nothing that it announced takes long. */
  isWatched(life: Life): boolean {
    const reading = this.#vessels.get(life)?.reading()
    return reading !== undefined && reading.beats > 0 && !reading.busy
  }

  setClock(ms: number): void {
    this.#clockOff += ms
  }

  /** Of the names of its lives. */
  get #suffix(): string {
    const { name } = this.#parts
    return name === '' ? '' : ` ${name}`
  }

  async order(actor: string): Promise<void> {
    await this.#run?.control.kill(actor, () => undefined)
  }

  stop(): void {
    this.#run?.control.stop()
  }

  /** The machine is gone: its process, and of its disk what chance takes. */
  crash(disk: 'unsynced lost' | 'lost'): void {
    this.process?.end('the machine crashes')
    this.#boots++
    if (disk === 'unsynced lost') {
      this.disk.crash()
    } else {
      this.disk.lose()
      this.#host++
    }
  }

  #over(life: Life, ended: Ended): void {
    if (!life.alive) return
    this.ended = ended
    life.end(`exits ${ended.kind === 'result' ? ended.result.code : ended.kind}`)
  }

  #job(life: Life): Job {
    const filling = extracting.filling
    const { parts } = this.#parts
    const use = { disk: this.disk.for(life), random: life.random }
    if (!filling) throw new Error('a run extracts')
    return {
      ...extracting,
      filling: { ...filling, fill: (run) => parts.filling(loadingSoon(extraction(run, use))) },
    }
  }

  #surroundings(life: Life): Surroundings {
    const { store, world } = this.#parts
    return {
      clock: life.clock,
      wall: { ...life.clock, now: () => world.now + this.#clockOff },
      random: life.random,
      disk: this.disk.for(life),
      monotonic: () => world.now,
      turn: () => new Promise((resolve) => void life.clock.setTimeout(resolve, 0)),
      openStore: async () => store.for(life),
    }
  }

  #around(life: Life, pid: number): RunSurroundings {
    const { parts, workload, log } = this.#parts
    const inside = {
      log,
      evil: workload.evil,
      openDataset: () => workload.dataset,
      begins: parts.begins,
      around: (actor: Life) => parts.around(this.#surroundings(actor), actor.name),
    }
    const [host, bootId] = [`${this.#parts.name}host ${this.#host}`, `boot ${this.#boots}`]
    const carry = (start: Start) => {
      const name = `${start.spec.id}#${start.generation}${this.#suffix}`
      const actor = new Life(life.world, name, life)
      this.actors.set(start.spec.id, actor)
      actor.onEnd((error) =>
        this.#parts.onDeath(start.spec.id, error === undefined ? 'by order' : 'by itself'),
      )
      const vessel = parts.vessel(
        new SimulatedVessel({ process: life, start: parts.start(start), inside, life: actor }),
      )
      this.#vessels.set(actor, vessel)
      return vessel
    }
    return {
      ...parts.around(this.#surroundings(life), 'process'),
      openLog: ({ actor }) => log.child({ actor }),
      prepare: async () => workload.prepared,
      holder: (writer) => ({
        writer,
        host,
        bootId,
        pid,
        startTicks: pid,
        nonce: `nonce ${life.random()}`,
      }),
      // Of this machine only one process lives at a time: the one that asks.
      isAlive: (mark) => mark.pid === pid,
      vessels: { thread: carry, process: carry, pair: () => portPair(life) },
      die: () => life.end('kills itself'),
    }
  }
}

/** No model here takes an hour to load: one that hangs as it loads is not waited for so long. */
const loadingSoon = (spec: SupervisorSpec): SupervisorSpec => ({
  ...spec,
  children: spec.children.map((child) =>
    'readyMs' in child ? { ...child, readyMs: Math.min(child.readyMs, loadMsMax) } : child,
  ),
})
