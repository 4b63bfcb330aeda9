import type { CheckpointRef, RestoreAsk, RestoredState } from '../../protocol/checkpointer.ts'
import {
  type CheckpointFolder,
  type Half,
  isHalf,
  listCheckpoints,
  lookInto,
  type WholeCheckpoint,
} from '../../src/checkpoint/list.ts'
import { checkpointName } from '../../src/checkpoint/names.ts'
import { restoreNamed, restoreNewest } from '../../src/checkpoint/restore.ts'
import {
  type Ranked,
  type RetainRule,
  removeCheckpoint,
  toRemove,
} from '../../src/checkpoint/retain.ts'
import { requireFinite, saveCheckpoint } from '../../src/checkpoint/save.ts'
import type { CheckpointState } from '../../src/checkpoint/state.ts'
import { abortUnfinishedSaves } from '../../src/checkpoint/sweep.ts'
import type { TrainingState } from '../../src/checkpoint/tensors.ts'
import type { Clock, Random } from '../../src/clock.ts'
import { type Failure, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import type { PartSizes } from '../../src/store/put-file.ts'
import type { ObjectStore } from '../../src/store/store.ts'

export interface CheckpointsParts {
  readonly store: ObjectStore
  readonly keep: RetainRule
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly partSizes?: PartSizes
}

/** The checkpoints of a store, as one checkpointer writes, reads and removes them. */
export class Checkpoints {
  readonly #parts: CheckpointsParts
  /** Each is written once: what was read of it stays true. Not all of it: an order log is long. */
  readonly #known = new Map<string, Known>()
  /** Of the right sizes, and with other bytes: a restore has found out. */
  readonly #torn = new Set<string>()
  /** Of saves that failed on their way: what they sent is half. */
  readonly #left = new Set<string>()

  constructor(parts: CheckpointsParts) {
    this.#parts = parts
  }

  /** What starts before this one left half sent goes. */
  sweep(): Promise<void> {
    return abortUnfinishedSaves(this.#parts.store)
  }

  /** Why it can never be gone on from: what holds NaN or infinity stays so. Null: it can be. */
  async unsoundness(state: TrainingState): Promise<Failure | null> {
    try {
      await requireFinite(state)
      return null
    } catch (error) {
      if (!isFailure(error, 'invalid')) throw error
      return error
    }
  }

  async save(state: TrainingState): Promise<CheckpointRef> {
    const { store, clock, log, partSizes, random } = this.#parts
    const writer = newWriterId(clock, random)
    const name = checkpointName({ step: state.progress.step, writer })
    this.#left.add(name)
    const begun = performance.now()
    const saved = await saveCheckpoint(store, state, {
      writer,
      now: clock.now(),
      ...(partSizes && { sizes: partSizes }),
      unhinted: (failure) => log.warn({ err: failure }, 'the hint to a checkpoint is not written'),
    })
    this.#left.delete(name)
    this.#known.set(name, knownOf(saved))
    const ref = refOf(saved)
    const seconds = (performance.now() - begun) / 1000
    log.info({ checkpoint: name, step: ref.step, bytes: ref.bytes, seconds }, 'checkpoint saved')
    return ref
  }

  /** Removes those of a training that the rule does not keep, and what failed saves have left. */
  async prune(training: string): Promise<void> {
    const { store, keep, log } = this.#parts
    const whole: Known[] = []
    for (const folder of await listCheckpoints(store)) {
      // Of a save that failed the last answer may have been lost: whole, it goes all the same.
      if (this.#torn.has(folder.name) || this.#left.has(folder.name)) continue
      const known = await this.#look(folder)
      if (known?.state.training === training) whole.push(known)
    }
    const names = [...toRemove(whole, keep).map(({ name }) => name), ...this.#left]
    for (const name of names) {
      await removeCheckpoint(store, name)
      this.#known.delete(name)
      this.#left.delete(name)
    }
    if (names.length > 0) log.info({ checkpoints: names }, 'checkpoints removed')
  }

  async restore(ask: RestoreAsk): Promise<RestoredState | null> {
    const { store, log } = this.#parts
    const { checkpoint: name, training, expected } = ask
    const onHalf = (half: Half) => {
      this.#torn.add(half.name)
      log.warn(half, 'a checkpoint is not complete: it is passed over')
    }
    const found =
      name === null
        ? await restoreNewest(store, { training, expected, onHalf })
        : await restoreNamed(store, { name, expected })
    if (!found) return null
    const from = refOf(found.checkpoint)
    log.info({ checkpoint: from.name, step: from.step }, 'checkpoint restored')
    return { from, state: found.state }
  }

  async #look(folder: CheckpointFolder): Promise<Known | undefined> {
    const known = this.#known.get(folder.name)
    if (known) return known
    const found = await lookInto(this.#parts.store, folder)
    if (isHalf(found)) return undefined
    this.#known.set(found.name, knownOf(found))
    return knownOf(found)
  }
}

/** What is needed of a checkpoint to rank it. */
interface Known extends Ranked {
  readonly name: string
  readonly state: Pick<CheckpointState, 'heldOutLoss' | 'tau' | 'training'>
}

const knownOf = ({ name, step, writer, state }: WholeCheckpoint): Known => {
  const { heldOutLoss, tau, training } = state
  return { name, step, writer, state: { heldOutLoss, tau, training } }
}

const refOf = ({ name, step, state }: WholeCheckpoint): CheckpointRef => ({
  name,
  step,
  training: state.training,
  heldOutLoss: state.heldOutLoss,
  bytes: state.files.model.bytes + state.files.optimizer.bytes,
  savedAt: Date.parse(state.savedAt),
})
