import {
  asIfUndisturbed,
  atAnyMoment,
  atTheEnd,
  type Breach,
  type Ends,
  type Invariant,
  invariants,
  type Seen,
  sinceThen,
} from '../../../src/audit/invariants.ts'
import type { Random } from '../../../src/clock.ts'
import { type Blow, type Figures, figuresOf } from '../measure.ts'
import type { Calm } from './calm.ts'
import { type Crash, scaled } from './crash.ts'
import type { Job } from './job.ts'
import { ended, type Moment } from './moments.ts'
import { type Ended, type Running, start } from './process.ts'
import type { S3Process } from './s3-process.ts'
import type { Scope } from './scope.ts'
import { look, readStored, type Stored } from './stored.ts'
import { Watch, type Watching } from './watch.ts'

/** What a drill works with: a job, its store, and what is to be asked of both. */

/** Something that must hold: an invariant, or what this drill alone can say. */
export interface Check {
  readonly what: string
  readonly held: boolean
  /** Samples that show otherwise; or what was found. */
  readonly samples: readonly string[]
}

export interface RigParts {
  readonly scope: Scope
  readonly seed: number
  readonly random: Random
  readonly job: Job
  /** Null where the store is a user's own. */
  readonly s3: S3Process | null
  /** What the job comes to where nothing disturbs it. */
  readonly calm: Calm
  /** Its rows are not so many as drills are made for. */
  readonly isSmaller: boolean
  /** Says what is under way now. */
  readonly step: (what: string) => void
}

export interface How {
  readonly args?: readonly string[]
  readonly job?: Job
  /** What runs it; absent: this Node. */
  readonly command?: { readonly file: string; readonly args: readonly string[] }
}

/** A user's own target may take its time. */
const endMs = 30 * 60_000

export class Rig {
  readonly scope: Scope
  readonly random: Random
  readonly job: Job
  readonly calm: Calm
  readonly checks: Check[] = []
  readonly #s3: S3Process | null
  readonly #isSmaller: boolean
  readonly #step: RigParts['step']
  readonly #watch: Watch
  readonly #runs = new Map<Running, Watching>()
  /** When each began: milliseconds since the epoch. */
  readonly #starts: number[] = []
  readonly #blows: Blow[] = []
  readonly #log: string[] = []
  /** How each work folder, and the store, lay when nothing of it ran. */
  readonly #seen = new Map<string, Seen>()
  #last: Seen | undefined

  constructor({ scope, random, job, s3, calm, isSmaller, step }: RigParts) {
    this.scope = scope
    this.random = random
    this.job = job
    this.calm = calm
    this.#isSmaller = isSmaller
    this.#step = step
    this.#s3 = s3
    this.#watch = new Watch(scope, s3)
  }

  /** The embedded store: only of drills that say that they need it. */
  get s3(): S3Process {
    if (!this.#s3) throw new Error('this drill says nowhere that it needs the embedded store')
    return this.#s3
  }

  /** Starts `draftsmith run` on the job, or otherwise. */
  start(crash: Crash | readonly Crash[] = [], how: How = {}): Running {
    const { args = ['run', this.job.config, '--json'], job = this.job, command } = how
    this.#starts.push(Date.now())
    const watched = this.#watch.begins(job, command ? 'unseen' : 'seen')
    const running = start(this.scope, args, {
      ...{ ...job, endMs, crash: [{ noted: true }, ...[crash].flat().map(this.#scaled)] },
      ...(command && { command }),
    })
    this.#runs.set(running, watched)
    return running
  }

  readonly #scaled = (crash: Crash): Crash =>
    this.#isSmaller ? scaled(crash, this.calm.calls) : crash

  /** Something was broken just now, from outside. */
  blow(until: Blow['until'] = 'anyone', by?: readonly string[]): void {
    this.#blows.push({ at: Date.now(), until, ...(by && { by }) })
  }

  check(what: string, held: boolean, ...samples: readonly string[]): void {
    this.checks.push({ what, held, samples: held ? [] : samples })
  }

  /** Its end, which its log and its exit code tell of. */
  async ended(running: Running): Promise<Ended> {
    const end = await running.ended()
    const watched = this.#runs.get(running)
    if (watched) this.tell(watched.asked, await watched.ended())
    this.#log.push(...end.stderr.split('\n'))
    return end
  }

  async exits(running: Running, code: number): Promise<Ended> {
    const end = await this.ended(running)
    const found = `${end.code ?? end.signal}${end.code === code ? '' : `: ${lastOf(end)}`}`
    this.check(`the run ends with exit code ${code}`, end.code === code, `exit code ${found}`)
    return end
  }

  /** All its processes were killed: what they left is looked at. */
  async killed(running: Running, job = this.job): Promise<Seen> {
    const { signal, code } = await this.ended(running)
    this.check('it was killed where it should be', signal === 'SIGKILL', `exit code ${code}`)
    return await this.look(job)
  }

  /** Nothing runs: what must hold then, and since the last time. */
  async look(job = this.job): Promise<Seen> {
    const seen = await look(job)
    this.tell(['stored', 'rows'], atAnyMoment(seen, this.calm.hashes))
    // The store is the same from wherever it is seen; a spool is one machine's.
    if (this.#last) this.tell(['kept'], sinceThen(this.#last, seen))
    const here = this.#seen.get(job.work)
    if (here) this.tell(['removed'], sinceThen(here, seen))
    this.#last = seen
    this.#seen.set(job.work, seen)
    return seen
  }

  /** The run ends well, and leaves what an undisturbed one does. */
  async completes(running = this.start(), job = this.job): Promise<void> {
    await this.exits(running, 0)
    await this.endsAsIfUndisturbed(job)
  }

  async endsAsIfUndisturbed(
    job = this.job,
    { named = true }: { readonly named?: boolean } = {},
  ): Promise<Stored> {
    const found = await this.ends(job, named ? 'once' : 'often')
    this.tell(['same'], asIfUndisturbed(this.calm.stored.objects, found.objects))
    return found
  }

  /** Every row has ended, whatever its end. @param failed  what the run could not store */
  async ends(
    job = this.job,
    names: 'once' | 'often' = 'once',
    failed: Ends['failed'] = new Set(),
  ): Promise<Stored> {
    this.#step('checking')
    const seen = await this.look(job)
    const found = await readStored(job)
    const ends = { wanted: this.calm.hashes, failed, named: names === 'once' ? found.named : null }
    this.tell(['once', 'cleared'], atTheEnd(seen, ends))
    return found
  }

  /** How many deaths were dealt from within. */
  get deaths(): number {
    return this.#moments.filter(({ name }) => name.startsWith(ended)).length
  }

  get #moments(): Moment[] {
    return [...this.#runs.keys()]
      .flatMap((running) => running.moments())
      .sort((a, b) => a.at - b.at)
  }

  async figures(): Promise<Figures> {
    return figuresOf(
      {
        moments: this.#moments,
        blows: this.#blows,
        log: this.#log,
        starts: this.#starts,
        bodies: this.#s3 && (await this.#s3.stats()).bodies,
      },
      this.calm,
    )
  }

  /** Asked of these, no more was found to be broken. */
  tell(asked: readonly Invariant[], breaches: readonly Breach[]): void {
    for (const invariant of asked) {
      const samples = breaches.flatMap((one) => (one.invariant === invariant ? one.samples : []))
      this.check(invariants[invariant], samples.length === 0, ...samples)
    }
  }
}

const lastOf = ({ stderr }: Ended): string =>
  stderr.trimEnd().split('\n').at(-1)?.slice(0, 300) ?? ''
