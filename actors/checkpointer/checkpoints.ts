import type { CheckpointRef, RestoreAsk, RestoredState } from '../../protocol/checkpointer.ts'
import {
  type Half,
  isHalf,
  listCheckpoints,
  lookInto,
  type WholeCheckpoint,
} from '../../src/checkpoint/list.ts'
import { checkpointName } from '../../src/checkpoint/names.ts'
import { restoreNamed, restoreNewest } from '../../src/checkpoint/restore.ts'
import { type RetainRule, removeCheckpoint, toRemove } from '../../src/checkpoint/retain.ts'
import { saveCheckpoint } from '../../src/checkpoint/save.ts'
import { abortUnfinishedSaves } from '../../src/checkpoint/sweep.ts'
import type { TrainingState } from '../../src/checkpoint/tensors.ts'
import type { Clock, Random } from '../../src/clock.ts'
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
  /** Each is written once: what was read of it stays true. */
  readonly #known = new Map<string, WholeCheckpoint>()
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

  async save(state: TrainingState): Promise<CheckpointRef> {
    const { store, clock, log, partSizes, random } = this.#parts
    const writer = newWriterId(clock, random)
    const name = checkpointName({ step: state.progress.step, writer })
    this.#left.add(name)
    const startedAt = clock.now()
    const saved = await saveCheckpoint(store, state, {
      writer,
      now: startedAt,
      ...(partSizes && { sizes: partSizes }),
      unhinted: (failure) => log.warn({ err: failure }, 'the hint to a checkpoint is not written'),
    })
    this.#left.delete(name)
    this.#known.set(name, saved)
    const ref = refOf(saved)
    const seconds = (clock.now() - startedAt) / 1000
    log.info({ checkpoint: name, step: ref.step, bytes: ref.bytes, seconds }, 'checkpoint saved')
    return ref
  }

  /** Removes those of a training that the rule does not keep, and what failed saves have left. */
  async prune(training: string): Promise<void> {
    const { store, keep, log } = this.#parts
    const whole: WholeCheckpoint[] = []
    for (const folder of await listCheckpoints(store)) {
      const found = this.#known.get(folder.name) ?? (await lookInto(store, folder))
      if (isHalf(found)) continue
      this.#known.set(found.name, found)
      if (found.state.training === training && !this.#torn.has(found.name)) whole.push(found)
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
}

const refOf = ({ name, step, state }: WholeCheckpoint): CheckpointRef => ({
  name,
  step,
  training: state.training,
  bytes: state.files.model.bytes + state.files.optimizer.bytes,
  savedAt: Date.parse(state.savedAt),
})
