import { loaderContract } from '../../protocol/loader.ts'
import type { Peer } from '../../protocol/peer.ts'
import type { SourceStatus } from '../../protocol/source.ts'
import type { Tree } from '../engine/tree.ts'
import { trainingIds } from '../training-ids.ts'
import type { Asked } from './asked.ts'

/**
 * From extraction to training: the loader hears when no more samples will come, a trainer that
 * waits for its device when it may begin; and both again when they have started anew.
 */
export class Handover {
  readonly #asked: Asked
  readonly #loader: Peer<typeof loaderContract> | null
  readonly #waits: boolean
  #isPaused = false
  #extraction: 'running' | 'ended'

  /** @param waits  whether the trainer begins only when extraction has ended */
  constructor(tree: Tree, asked: Asked, waits: boolean) {
    this.#asked = asked
    this.#loader = asked.training && tree.client(trainingIds.loader, loaderContract)
    this.#waits = waits
    this.#extraction = asked.source ? 'running' : 'ended'
  }

  async heard(source: SourceStatus | null): Promise<void> {
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
      told(this.#asked.source?.again((ask) => ask.pause(paused))),
      this.#tellTrainer(),
    ])
  }

  async #tellLoader(): Promise<void> {
    await told(this.#loader?.again((ask) => ask.extractionEnded()))
  }

  async #tellTrainer(): Promise<void> {
    const rests = this.#isPaused || (this.#waits && this.#extraction === 'running')
    await told(this.#asked.training?.trainer.again((ask) => ask.pause(rests)))
  }
}

/** Whoever is away for good is the supervisor's to know of. */
const told = async (telling: Promise<void> | undefined): Promise<void> => {
  await telling?.catch(() => undefined)
}
