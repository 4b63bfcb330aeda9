import type { TrainingStatus } from '../../protocol/console.ts'
import type { SourceStatus } from '../../protocol/source.ts'
import { trainingIds } from '../training-ids.ts'
import { type Asked, asksFor } from './asked.ts'
import { isSaved } from './judge.ts'

/** What was told last by those whose end another waits for. */
export interface Ends {
  readonly source: SourceStatus | null
  readonly training: TrainingStatus | null
}

/**
 * From extraction to training, and from training to its last checkpoint: the loader hears when no
 * more samples will come, a trainer that waits for its device when it may begin, the checkpointer
 * when all is learnt; and each again when it has started anew.
 */
export class Handover {
  readonly #asked: Asked
  readonly #waits: boolean
  #isPaused = false
  #extraction: 'running' | 'ended'
  /** The last checkpoint, while it is asked for. */
  #saving: Promise<void> | undefined

  /** @param waits  whether the trainer begins only when extraction has ended */
  constructor(asked: Asked, { waits }: { readonly waits: boolean }) {
    this.#asked = asked
    this.#waits = waits
    this.#extraction = asked.source ? 'running' : 'ended'
  }

  async heard({ source, training }: Ends): Promise<void> {
    this.#saveLast(training)
    if (this.#extraction === 'ended' || !source?.outcome) return
    this.#extraction = 'ended'
    await Promise.all([this.#tellLoader(), this.#tellTrainer()])
  }

  async started(child: string): Promise<void> {
    if (child === trainingIds.loader && this.#extraction === 'ended') await this.#tellLoader()
    if (child === trainingIds.trainer) await this.#tellTrainer()
  }

  async pause(paused: boolean): Promise<void> {
    this.#isPaused = paused
    await Promise.all([
      told(this.#asked.source?.again((ask) => ask.pause(paused), asksFor)),
      this.#tellTrainer(),
    ])
  }

  /** It may take hours: nobody waits for it here, and it is asked for once at a time. */
  #saveLast(training: TrainingStatus | null): void {
    if (this.#saving || !training?.trainer.outcome || isSaved(training)) return
    const saved = this.#asked.training?.checkpointer.again((ask) => ask.save(), asksFor)
    this.#saving = told(saved).finally(() => {
      this.#saving = undefined
    })
  }

  async #tellLoader(): Promise<void> {
    await told(this.#asked.training?.loader.again((ask) => ask.extractionEnded(), asksFor))
  }

  async #tellTrainer(): Promise<void> {
    const rests = this.#isPaused || (this.#waits && this.#extraction === 'running')
    await told(this.#asked.training?.trainer.again((ask) => ask.pause(rests), asksFor))
  }
}

/** Whoever is away for good is the supervisor's to know of. */
const told = async (telling: Promise<unknown> | undefined): Promise<void> => {
  await telling?.catch(() => undefined)
}
