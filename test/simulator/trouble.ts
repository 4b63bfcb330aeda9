import type { Machine } from './machine.ts'
import type { Fault, Scenario } from './scenario.ts'
import type { SimulatedStore } from './store.ts'
import type { Life, World } from './world.ts'

/** Lets go wrong what the scenario says, each at its step. */

interface Hit {
  readonly world: World
  readonly machine: Machine
  readonly store: SimulatedStore
  /** Starts the run on another machine too, for so long. */
  readonly second: (ms: number) => void
  /** An actor hangs. */
  readonly hung: (life: Life) => void
}

/** Until an actor that is struck again and again is there. */
const lookMs = 100
const looksMax = 200

export class Trouble {
  readonly #hit: Hit
  readonly #faults: Exclude<Fault, { kind: 'request' }>[]
  /** Steps by which those that are left come later than they say. */
  #lateBy = 0
  /** Of actors, processes and machines so far. */
  crashes = 0

  constructor({ faults }: Scenario, hit: Hit) {
    this.#hit = hit
    this.#faults = faults.filter((fault) => fault.kind !== 'request').sort((a, b) => a.at - b.at)
  }

  injectDue(): void {
    const { world } = this.#hit
    for (;;) {
      const [fault] = this.#faults
      if (!fault || fault.at + this.#lateBy > world.steps) return
      const victims = this.#victimsOf(fault)
      if (victims?.length === 0) return
      this.#faults.shift()
      this.#lateBy = world.steps - fault.at
      world.tell(() => `fault: ${JSON.stringify(fault)}`)
      this.#inject(fault, victims ?? [])
    }
  }

  /** Of whom it takes one; undefined: it needs none. */
  #victimsOf({ kind }: Fault): readonly Life[] | undefined {
    const { machine, store } = this.#hit
    if (kind === 'actor' || kind === 'order') return machine.living
    if (kind === 'hang')
      return machine.living.filter((life) => !life.hangs && machine.isWatched(life))
    if (kind !== 'asking') return undefined
    return machine.living.filter((life) => store.openOf((other) => other === life) > 0)
  }

  #inject(fault: Exclude<Fault, { kind: 'request' }>, victims: readonly Life[]): void {
    const { machine, store, world } = this.#hit
    if (fault.kind === 'actor' || fault.kind === 'asking') this.#kill(pickOf(victims, fault.pick))
    else if (fault.kind === 'process') this.#crash(() => machine.process?.end('is killed'))
    else if (fault.kind === 'machine') this.#crash(() => machine.crash(fault.disk))
    else if (fault.kind === 'storm') this.#storm(fault.actor, fault.times)
    else if (fault.kind === 'order') this.#order(pickOf(victims, fault.pick))
    else if (fault.kind === 'stop') world.plan(0, machine.process, () => machine.stop())
    else if (fault.kind === 'hang') this.#hang(pickOf(victims, fault.pick))
    else if (fault.kind === 'clock') machine.setClock(fault.ms)
    else if (fault.kind === 'second') this.#hit.second(fault.ms)
    else if (fault.kind === 'rot') machine.disk.rotsNext = true
    else if (fault.kind === 'full') machine.disk.fullUntil = world.now + fault.ms
    else store.awayUntil = world.now + fault.ms
  }

  #crash(how: () => void): void {
    if (!this.#hit.machine.process?.alive) return
    this.crashes++
    how()
  }

  #kill(life: Life | undefined): void {
    if (!life?.alive) return
    this.crashes++
    life.end('crashes', new Error('crashed by the simulator'))
  }

  #hang(life: Life | undefined): void {
    if (!life?.alive) return
    this.crashes++
    life.hangs = true
    this.#hit.hung(life)
  }

  #order(life: Life | undefined): void {
    const { machine, world } = this.#hit
    const [id] = life?.name.split('#') ?? []
    if (id !== undefined) world.plan(0, machine.process, () => void machine.order(id))
  }

  #storm(actor: string, times: number): void {
    const { machine, world } = this.#hit
    let looks = looksMax
    const strike = (left: number) => {
      const life = machine.actors.get(actor)
      if (!life?.alive) {
        if (looks-- > 0) world.plan(lookMs, null, () => strike(left))
        return
      }
      this.#kill(life)
      if (left > 1) world.plan(500 + world.draw() * 4000, null, () => strike(left - 1))
    }
    strike(times)
  }
}

const pickOf = (lives: readonly Life[], pick: number): Life | undefined =>
  lives[Math.floor(pick * lives.length)]
