import type { ChildSpec, SupervisorSpec } from '../../protocol/child.ts'
import type { World } from './world.ts'

/** How often each actor has died, against what its supervisor says of it. */
export class Deaths {
  readonly #world: World
  readonly #limits = new Map<string, SupervisorSpec['restarts']>()
  readonly #times = new Map<string, number[]>()

  constructor(world: World) {
    this.#world = world
  }

  /** A process has started with this tree. */
  begin(spec: SupervisorSpec): void {
    this.#times.clear()
    this.#learn(spec)
  }

  note(id: string): void {
    const times = this.#times.get(id) ?? []
    times.push(this.#world.now)
    this.#times.set(id, times)
  }

  /** What is wrong where a supervisor has given up this child; undefined: it was right to. */
  judge(child: string, why: string): string | undefined {
    const limit = this.#limits.get(child)
    if (!limit || !why.includes('too many restarts')) return undefined
    const since = this.#world.now - limit.withinMs
    const found = (this.#times.get(child) ?? []).filter((at) => at >= since).length
    if (found > limit.max) return undefined
    return `given up after ${found} deaths, may have ${limit.max}: ${child}`
  }

  #learn(spec: SupervisorSpec): void {
    for (const child of spec.children) {
      if (isSupervisor(child)) this.#learn(child)
      else this.#limits.set(child.id, spec.restarts)
    }
  }
}

const isSupervisor = (child: ChildSpec | SupervisorSpec): child is SupervisorSpec =>
  'children' in child
