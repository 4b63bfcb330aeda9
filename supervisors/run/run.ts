import { createActor, waitFor } from 'xstate'
import { actorIds } from '../../actors/console/actor-ids.ts'
import type { RunStatus } from '../../protocol/console.ts'
import { every } from '../../src/clock.ts'
import type { Config } from '../../src/config/schema.ts'
import { isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { patientStore } from '../../src/store/patient.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { TreeEvent } from '../engine/events.ts'
import { supervise, type Tree } from '../engine/tree.ts'
import type { Job } from '../job.ts'
import { keepLock } from '../lock-beat.ts'
import { logTarget } from '../log-target.ts'
import { root } from '../root.ts'
import { waitsForExtraction } from '../training.ts'
import { type Asked, askedOf } from './asked.ts'
import { withTraining } from './begun-training.ts'
import { RunClaims } from './claims.ts'
import { Control } from './control.ts'
import { Handover } from './handover.ts'
import { isUnsaved } from './judge.ts'
import { Losses } from './losses.ts'
import { exitCodes, type RunEvent, runMachine } from './machine.ts'
import { type OpenedRun, openRun, publishRun } from './opening.ts'
import type { Prepared } from './preflight.ts'
import { progressFacts } from './progress-facts.ts'
import { RequestCap } from './request-cap.ts'
import type { RunResult } from './result.ts'
import type { withRetries } from './retries.ts'
import { type EndSignal, exitCodeOf } from './signals.ts'
import { Standing } from './standing.ts'
import { SuddenEnd } from './sudden-end.ts'
import { type RunSurroundings, realRun } from './surroundings.ts'

/** One run of the main job in this process: from its preflight to its exit code. */

const pollMs = 200
const openingAttempts = 8
/** For those who watch no terminal. */
const progressMs = 30_000
const pausedOrRunning = { active: 'running', paused: 'paused' }

export interface RunOptions {
  /** Called before the process ends itself by SIGKILL. */
  readonly lastWords: () => void
  /** Called once the run is held, for what the store alone can tell. */
  readonly amend: typeof withRetries
  readonly job: Job
  /** Default: this machine and this process. */
  readonly around?: RunSurroundings
}

/** The tree, and those of it that this thread asks: each `client` makes a port that stays. */
interface Planted extends Asked {
  readonly tree: Tree
  readonly handover: Handover
}

export class RunProcess {
  readonly #config: Config
  readonly #options: RunOptions
  readonly #around: RunSurroundings
  readonly #log: Log
  /** Whatever is under way: of a third signal, a bug, or a thread that cannot be ended. */
  readonly end: SuddenEnd
  /** What a person may have it do. */
  readonly control: Control
  readonly #life = createActor(runMachine).start()
  readonly #claims: RunClaims
  readonly #losses: Losses
  readonly #cap: RequestCap
  readonly #standing: Standing
  readonly #startedAt: Date
  #runId = ''
  #planted: Planted | undefined
  /** Settled once the ledger has told what it holds after its drain. */
  #lastWord: Promise<void> | undefined

  constructor(config: Config, options: RunOptions) {
    this.#config = config
    this.#options = options
    const { around = realRun } = options
    const { clock, die, openLog, wall } = around
    this.#around = around
    this.#startedAt = new Date(wall.now())
    this.#standing = new Standing(clock)
    this.#cap = new RequestCap(config.upload, clock)
    this.#log = openLog({ ...logTarget(config.work), actor: 'supervisor' })
    this.end = new SuddenEnd(this.#log, options.lastWords, die)
    this.#claims = new RunClaims(config.work, this.#log, around)
    this.#losses = new Losses(config, this.#claims, around)
    this.control = new Control({
      ...{ config, clock, log: this.#log, cap: this.#cap },
      status: () => this.status(),
      send: (event) => this.#life.send(event),
      tellPaused: () => this.#tellPaused(),
      look: async () => {
        if (this.#planted) await this.#tell(this.#standing.askAnew(this.#planted))
      },
      planted: () => this.#planted,
    })
  }

  get log(): Log {
    return this.#log
  }

  status(): RunStatus {
    const { store, work } = this.#config
    const { value } = this.#life.getSnapshot()
    const state = typeof value === 'string' ? value : pausedOrRunning[value.running]
    const { source, ledger, training, speed } = this.#standing
    return {
      run: this.#runId,
      state,
      pid: process.pid,
      store,
      work,
      startedAt: this.#startedAt.toISOString(),
      source,
      ledger,
      training,
      speed: state === 'paused' ? { ...speed, etaSeconds: null } : speed,
      actors: this.#planted?.tree.status() ?? null,
    }
  }

  /** The first signal drains; the second waits for nothing that can be done again. */
  signalled(signal: EndSignal, urgency: 'drain' | 'hurry'): void {
    this.#log.warn({ signal, urgency }, 'told to end')
    this.#life.send({ type: 'stop', code: exitCodeOf(signal) })
    if (urgency === 'hurry') void this.#planted?.tree.stop({ hurry: true })
  }

  /** @throws  Failure: what the preflight found; nothing was started then */
  async run(): Promise<RunResult> {
    const storm = this.#claims.judgeBefore()
    if (storm) return { code: exitCodes.gaveUp, failure: storm, status: this.status() }
    const place = { url: this.#config.store, s3: this.#config.s3 }
    const [around, log] = [this.#around, this.#log]
    const attempts = Math.min(openingAttempts, this.#config.upload.attempts)
    const { acquire } = this.#cap
    const bare = await patientStore(place, { acquire, attempts, log, around })
    const preparing = new AbortController()
    const preparation = around.prepare(this.#config, this.#options.job, preparing.signal)
    const prepared = await this.#unlessStopped(preparation)
    // Of a run that was told to stop by now, the store need not hear.
    if (prepared === 'stopped' || this.#isStopped) {
      preparing.abort()
      return this.#ended()
    }
    const opening = openRun(bare, prepared, { log, around })
    const opened = await this.#unlessStopped(opening.done)
    if (opened === 'stopped') {
      await opening.abort()
      return this.#ended()
    }
    const { store } = opened
    this.#runId = opened.stored.run.id
    const lock = keepLock(opened.lock, {
      log,
      clock: around.clock,
      onLost: () => this.#life.send({ type: 'stop', code: exitCodes.held }),
    })
    try {
      const amended = await this.#unlessStopped(this.#amended(store, prepared, opened))
      if (amended === 'stopped') return this.#ended()
      const publishing = publishRun(store, amended, { log, alone: opened.alone, around })
      if ((await this.#unlessStopped(publishing.done)) === 'stopped') {
        await publishing.abort()
        return this.#ended()
      }
      const planted = this.#plant({ ...amended, storeSums: opened.storeSums })
      this.#cap.handOver(planted.ledger)
      await this.#live(planted)
    } finally {
      this.#cap.takeBack()
      await lock.release()
    }
    return this.#ended()
  }

  /** What the store alone can tell; before anything of the run is put there. */
  async #amended(
    store: ObjectStore,
    prepared: Prepared,
    { alone }: Pick<OpenedRun, 'alone'>,
  ): Promise<Prepared> {
    const amended = await this.#options.amend(store, prepared)
    return await withTraining(store, amended, { conditional: alone, log: this.#log })
  }

  get #isStopped(): boolean {
    return this.#life.getSnapshot().matches('draining')
  }

  /** What the work gives. A store may be slow, or far: whoever stops the run waits for neither. */
  async #unlessStopped<T>(work: Promise<T>): Promise<T | 'stopped'> {
    const stopped = waitFor(this.#life, (state) => state.matches('draining'))
    return await Promise.race([work, stopped.then(() => 'stopped' as const)])
  }

  #ended(): RunResult {
    this.#life.send({ type: 'drained' })
    const { code, failure } = this.#life.getSnapshot().context
    if (failure) this.#log.error({ code, err: failure }, 'the run cannot go on')
    return { code, failure, status: this.status() }
  }

  #plant(prepared: Prepared): Planted {
    const { job } = this.#options
    const { clock, random, vessels } = this.#around
    const tree = supervise(root(prepared, job), {
      clock,
      random,
      ...(vessels && { vessels }),
      log: this.#log,
      logTo: logTarget(this.#config.work),
      onEvent: (event) => this.#happened(event),
      onGaveUp: (failure) => this.#life.send({ type: 'gaveUp', failure }),
      onWedged: () => void this.end.wedged(this.#codeOfStop),
    })
    const asked = askedOf(tree, job)
    const handover = new Handover(asked, { waits: waitsForExtraction(prepared, job) })
    this.#planted = { tree, handover, ...asked }
    this.control.grown(tree)
    return this.#planted
  }

  /** What is spooled waits there; null: nobody has told it to stop. */
  get #codeOfStop(): number | null {
    const { context, value } = this.#life.getSnapshot()
    return value === 'draining' && context.code > exitCodes.incomplete ? context.code : null
  }

  async #live(planted: Planted): Promise<void> {
    const { tree } = planted
    this.#life.send({ type: 'checked' })
    if (this.#isStopped) return
    const started = tree.start().catch((error: unknown) => {
      // The root has told why it gave up; a stop that came first needs no reason.
      if (!isFailure(error)) throw error
    })
    const { clock } = this.#around
    const endPolls = every(pollMs, clock, () => void this.#tell(this.#standing.ask(planted)))
    const endProgress = every(progressMs, clock, () => {
      this.#log.info(progressFacts(this.status()), 'progress')
    })
    await waitFor(this.#life, (state) => state.matches('draining') || state.status === 'done')
    // A store that is lost takes nothing more: the spool keeps what waits for it.
    const lost = this.#standing.ledger?.gaveUp != null || this.#losses.isStoreLost
    const left = lost ? this.#losses.left() : null
    if (left) this.#life.send(left)
    await tree.stop({ hurry: lost })
    this.end.tellLeft()
    await this.#lastWord
    this.#claims.forgive(actorIds(tree.status()))
    const isDone = this.#life.getSnapshot().context.code === exitCodes.done
    if (isDone && this.#options.job.filling?.computes) this.#claims.settle()
    await started
    endPolls()
    endProgress()
  }

  async #tell(heard: Promise<readonly RunEvent[]>): Promise<void> {
    for (const event of await heard) this.#life.send(event)
    await this.#planted?.handover.heard(this.#standing)
  }

  #happened(event: TreeEvent): void {
    if (event.kind === 'started') this.#started(event.child)
    // It still answers: what it committed last is in the summary, or why it could not.
    const isEnd = event.kind === 'drained' || event.kind === 'undrained'
    if (isEnd && event.child === 'ledger' && this.#planted) {
      this.#lastWord = this.#tell(this.#standing.askAnew(this.#planted))
    }
    this.end.note(event)
    this.control.heard(event)
    const loss = this.#losses.note(event, { isUnsaved: isUnsaved(this.#standing.training) })
    if (loss) this.#life.send(loss)
  }

  #started(child: string): void {
    // Uploaders start after it: nothing is sent before this is told.
    if (child === 'ledger') this.#life.send({ type: 'begun' })
    void this.#tellStarted(child)
  }

  /** One that has restarted knows nothing of what was changed since the first start. */
  async #tellStarted(child: string): Promise<void> {
    if (child === this.#options.job.filling?.source) await this.#tellPaused()
    await this.#planted?.handover.started(child)
  }

  async #tellPaused(): Promise<void> {
    const paused = this.#life.getSnapshot().matches({ running: 'paused' })
    await this.#planted?.handover.pause(paused)
  }
}
