import type {
  AwaitedEnd,
  Killed,
  Restarted,
  RootControl,
  RunStatus,
  SettingsInForce,
} from '../../protocol/console.ts'
import { aborted } from '../../src/aborted.ts'
import { type Clock, sleep } from '../../src/clock.ts'
import {
  type ChangedSettings,
  liveKeysOf,
  settingsOfConfig,
} from '../../src/config/live-settings.ts'
import type { Config } from '../../src/config/schema.ts'
import { Failure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { TreeEvent } from '../engine/events.ts'
import type { Tree } from '../engine/tree.ts'
import { type Asked, asksFor, saveCheckpoint } from './asked.ts'
import { drainInTime } from './drain-in-time.ts'
import { exitCodes, type RunEvent } from './machine.ts'
import type { RequestCap } from './request-cap.ts'

/** Between two looks at what is under way. */
const lookMs = 200

export interface ControlParts {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly cap: RequestCap
  readonly status: () => RunStatus
  readonly send: (event: RunEvent) => void
  /** Tells those that begin work whether they may. */
  readonly tellPaused: () => Promise<void>
  /** Asks all how far they are: `status` then tells it. */
  readonly look: () => Promise<void>
  /** The tree, and those of it that are asked; undefined before it is made. */
  readonly planted: () => (Asked & { readonly tree: Tree }) | undefined
}

interface Awaiting {
  readonly actor: string
  readonly awaited: (wait: AwaitedEnd) => void
}

/** What a person may have a run do. */
export class Control implements RootControl {
  readonly #parts: ControlParts
  #changed: ChangedSettings = {}
  /** Who is to be told, once, that the end of an actor waits. */
  readonly #awaiting = new Set<Awaiting>()

  constructor(parts: ControlParts) {
    this.#parts = parts
  }

  status(): RunStatus {
    return this.#parts.status()
  }

  async pause(): Promise<void> {
    this.#parts.send({ type: 'pause' })
    await this.#parts.tellPaused()
  }

  async continue(): Promise<void> {
    this.#parts.send({ type: 'continue' })
    await this.#parts.tellPaused()
  }

  async kill(actor: string, awaited: (wait: AwaitedEnd) => void): Promise<Killed | null> {
    const awaiting: Awaiting = { actor, awaited }
    this.#awaiting.add(awaiting)
    try {
      return await this.#tree.kill(actor)
    } finally {
      this.#awaiting.delete(awaiting)
    }
  }

  async restart(actor: string): Promise<Restarted> {
    return await this.#tree.restart(actor)
  }

  settings(): SettingsInForce {
    const { config } = this.#parts
    const configured = settingsOfConfig(config)
    return { keys: liveKeysOf(config), configured, inForce: { ...configured, ...this.#changed } }
  }

  set(changed: ChangedSettings): void {
    const { cap, log, planted } = this.#parts
    log.info({ ...changed }, 'settings changed')
    this.#changed = { ...this.#changed, ...changed }
    if (changed['log.level'] !== undefined) log.level = changed['log.level']
    planted()?.tree.change(changed)
    const requests = changed['upload.maxParallel']
    if (requests !== undefined) cap.set(requests)
  }

  /** What was changed before there was a tree. */
  grown(tree: Tree): void {
    tree.change(this.#changed)
  }

  async checkpoint(): Promise<string | null> {
    return await saveCheckpoint(this.#parts.planted())
  }

  async drain(signal: AbortSignal): Promise<void> {
    const drained = this.#drained(signal)
    drained.catch(() => undefined)
    const left = aborted(signal).then(() => {
      throw unawaited()
    })
    await Promise.race([drained, left])
  }

  async #drained(signal: AbortSignal): Promise<void> {
    await this.pause()
    const asked = this.#stillPaused()
    while (!(await this.#isIdle(asked))) {
      if (signal.aborted) throw unawaited()
      await sleep(lookMs, this.#parts.clock)
      this.#stillPaused()
    }
    if (asked.training) await saveCheckpoint(asked)
    await this.#parts.look()
    this.#stillPaused()
  }

  /** The machine goes in so long. */
  async preempted(leftMs: number, die: () => void): Promise<void> {
    const { clock, planted } = this.#parts
    await drainInTime(leftMs, {
      clock,
      pause: () => this.pause(),
      commit: async () => await planted()?.ledger.again((ask) => ask.commit(), asksFor),
      drain: () => this.stop(),
      hurry: () => void planted()?.tree.stop({ hurry: true }),
      die,
    })
  }

  stop(): void {
    this.#parts.send({ type: 'stop', code: exitCodes.stopped })
  }

  note(text: string): void {
    this.#parts.log.info({ note: text }, 'note')
  }

  heard(event: TreeEvent): void {
    if (event.kind !== 'awaited') return
    for (const awaiting of this.#awaiting) {
      if (awaiting.actor !== event.child) continue
      this.#awaiting.delete(awaiting)
      awaiting.awaited(event)
    }
  }

  get #tree(): Tree {
    const planted = this.#parts.planted()
    if (planted) return planted.tree
    throw new Failure('invalid', 'no actor has been started yet', {
      remedy: 'Wait until `status` shows the tree.',
    })
  }

  /**
   * What was given out comes back, and all of it into the manifest. A reader that has restarted
   * does not know what it gave out before: who has it asks the ledger for room, or was granted
   * some.
   */
  async #isIdle({ ledger, source }: Asked): Promise<boolean> {
    const heard = source && (await source.again((ask) => ask.status(), asksFor))
    if (heard?.of === 'rows' && heard.batches.leased > 0) return false
    const { granted, spool } = await ledger.again((ask) => ask.status(), asksFor)
    if (granted > 0 || spool.full !== null) return false
    return (await ledger.again((ask) => ask.settled(), asksFor)).kind === 'settled'
  }

  #stillPaused(): Asked {
    const planted = this.#parts.planted()
    const { state } = this.#parts.status()
    if (planted && state === 'paused') return planted
    throw new Failure('invalid', `there is nothing to drain now. state=${state}`, {
      remedy: 'Drain while the run is running or paused.',
    })
  }
}

const unawaited = (): Failure =>
  new Failure('unavailable', 'nobody waits for the drain any more', {
    remedy: 'The run stays paused: `continue` goes on.',
  })
