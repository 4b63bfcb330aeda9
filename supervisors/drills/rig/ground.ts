import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { seededRandom } from '../../../src/clock.ts'
import type { Drill, Need } from '../drill.ts'
import { type Calm, calmRun } from './calm.ts'
import type { Job } from './job.ts'
import { type JobOptions, type JobPlace, layOut, type Materials } from './materials.ts'
import { OwnStore } from './own-store.ts'
import { Rig } from './rig.ts'
import { type S3Process, startS3 } from './s3-process.ts'
import { Ending, type Scope } from './scope.ts'

/** Where drills are held: on what materials, beside what an undisturbed run comes to. */
export class Ground {
  readonly #materials: Materials
  readonly #seed: number
  readonly #own: OwnStore
  /** By what it hangs on of the job's options; each is found out once. */
  readonly #calm = new Map<string, Promise<Calm>>()
  readonly #open = new Set<Ending>()
  #count = 0
  #isLeft = false
  /** Says what is under way now, of what takes long. */
  readonly step: (what: string) => void

  constructor(materials: Materials, seed: number, step: Ground['step'] = () => undefined) {
    this.#materials = materials
    this.#seed = seed
    this.step = step
    this.#own = new OwnStore(String(materials.sections.store ?? ''))
  }

  /** What is begun in it ends with it; or with all of them. */
  scope(): Ending {
    const ending = new Ending()
    this.#open.add(ending)
    return ending
  }

  /** What is under way when the ground is left comes to nothing, and says nothing. */
  async whileHere<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } finally {
      if (this.#isLeft) await new Promise(() => undefined)
    }
  }

  /** Ends whatever is under way, and takes away what it left: then the process ends. */
  async leave(): Promise<void> {
    this.#isLeft = true
    for (const ending of this.#open) await ending.end()
  }

  /** Places in a user's own store that drills have not emptied yet. */
  get leftInStore(): readonly string[] {
    return this.#own.left
  }

  /** Why a drill cannot be held here; null where it can. */
  lacks(need: Need): string | null {
    const isOwn = this.#materials.kind === 'own'
    if (need === 'embedded' && isOwn) return 'needs the embedded store, not one of your own'
    if (need === 'demo' && isOwn) return "needs the demo's target and rows"
    if (need === 'mount') return mountLacks()
    return null
  }

  /** A rig of its own for a drill. What it leaves ends with the scope. */
  async rig({ name, job: options = {} }: Pick<Drill, 'name' | 'job'>, scope: Scope): Promise<Rig> {
    const calm = await this.#calmOf(options)
    const s3 = await this.#store(scope)
    const job = await this.#layOut(name, { ...options, s3 }, scope)
    const random = seededRandom(this.#seed)
    const isSmaller = this.#materials.isSmaller && options.rows === undefined
    const { step } = this
    return new Rig({ scope, seed: this.#seed, random, job, s3, calm, isSmaller, step })
  }

  async #layOut(name: string, options: JobPlace, scope: Scope): Promise<Job> {
    const job = await layOut(this.#materials, `${++this.#count}-${name}`, options)
    if (!options.s3) this.#own.used(job)
    scope.after(async () => {
      if (!options.s3) await this.#own.empty(job)
      // What was killed may write a last time.
      rmSync(job.dir, { recursive: true, force: true, maxRetries: 20 })
    })
    return job
  }

  #store(scope: Scope): Promise<S3Process> | null {
    return this.#materials.kind === 'demo' ? startS3(scope) : null
  }

  /** Drills that differ only in what makes no difference to it share one. */
  #calmOf({ freely: _, ...options }: JobOptions): Promise<Calm> {
    const key = JSON.stringify(options)
    const known = this.#calm.get(key)
    if (known) return known
    const found = this.#findCalm(options)
    this.#calm.set(key, found)
    return found
  }

  async #findCalm(options: JobOptions): Promise<Calm> {
    const ending = this.scope()
    try {
      const s3 = await this.#store(ending)
      const job = await this.#layOut('undisturbed', { ...options, s3 }, ending)
      this.step('the undisturbed run, to compare with')
      return await calmRun(ending, job)
    } finally {
      await ending.end()
    }
  }
}

/** Why no small disk can be mounted here that nobody else sees. */
function mountLacks(): string | null {
  const args = ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']
  const { status, stderr, error } = spawnSync('unshare', args, { encoding: 'utf8' })
  const said = error?.message ?? stderr.trim()
  return status === 0 ? null : `needs leave to mount a disk: ${said}`
}
