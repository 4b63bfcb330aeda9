import { seededRandom } from '../../../src/clock.ts'
import type { Drill, Need } from '../drill.ts'
import { type Calm, calmRun } from './calm.ts'
import { type JobOptions, layOut, type Materials } from './materials.ts'
import { Rig } from './rig.ts'
import { type S3Process, startS3 } from './s3-process.ts'
import { Ending, type Scope } from './scope.ts'

/** Where drills are held: on what materials, beside what an undisturbed run comes to. */
export class Ground {
  readonly #materials: Materials
  readonly #seed: number
  /** By the job's options; each is found out once. */
  readonly #calm = new Map<string, Promise<Calm>>()
  #count = 0

  constructor(materials: Materials, seed: number) {
    this.#materials = materials
    this.#seed = seed
  }

  /** Why a drill cannot be held here; null where it can. */
  lacks(need: Need): string | null {
    const isOwn = this.#materials.kind === 'own'
    if (need === 'embedded' && isOwn) return 'needs the embedded store, not one of your own'
    if (need === 'demo' && isOwn) return "needs the demo's target and rows"
    if (need === 'linux' && process.platform !== 'linux') return 'needs Linux'
    return null
  }

  /** A rig of its own for a drill. What it leaves ends with the scope. */
  async rig({ name, job: options = {} }: Pick<Drill, 'name' | 'job'>, scope: Scope): Promise<Rig> {
    const calm = await this.#calmOf(options)
    const s3 = await this.#store(scope)
    const job = await layOut(this.#materials, `${++this.#count}-${name}`, { ...options, s3 })
    const random = seededRandom(this.#seed)
    return new Rig({ scope, seed: this.#seed, random, job, s3, calm })
  }

  #store(scope: Scope): Promise<S3Process> | null {
    return this.#materials.kind === 'demo' ? startS3(scope) : null
  }

  #calmOf(options: JobOptions): Promise<Calm> {
    const key = JSON.stringify(options)
    const known = this.#calm.get(key)
    if (known) return known
    const found = this.#findCalm(options)
    this.#calm.set(key, found)
    return found
  }

  async #findCalm(options: JobOptions): Promise<Calm> {
    const ending = new Ending()
    try {
      const s3 = await this.#store(ending)
      const job = await layOut(this.#materials, `${++this.#count}-undisturbed`, { ...options, s3 })
      return await calmRun(ending, job)
    } finally {
      await ending.end()
    }
  }
}
