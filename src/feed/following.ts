/** A run that still stores samples: its manifest is looked at again and again while it does. */
import type { Clock } from '../clock.ts'
import { Failure } from '../failure.ts'
import type { Manifest } from '../manifest/log.ts'
import type { Admission } from './admission.ts'
import type { StoreAway } from './store-away.ts'

/** Between two looks: each is some requests. */
const followMs = 2000

export interface FollowingParts {
  readonly manifest: Pick<Manifest, 'replay'>
  readonly away: StoreAway
  readonly clock: Clock
  /** False: what is stored now is all. */
  readonly follows: boolean
}

export class Following {
  readonly #parts: FollowingParts
  readonly #stop = new AbortController()
  #mode: 'following' | 'ended'
  #looking: Promise<void> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(parts: FollowingParts) {
    this.#parts = parts
    this.#mode = parts.follows ? 'following' : 'ended'
  }

  get isOn(): boolean {
    return this.#mode === 'following'
  }

  /** The run stores no more: what is stored at the next look is all. */
  ended(): void {
    this.#mode = 'ended'
    this.#lookedAt = Number.NEGATIVE_INFINITY
  }

  /** Whoever waits for the store is told that nobody looks any more. */
  stop(): void {
    this.#stop.abort(new Failure('unavailable', 'the training data are served no more'))
  }

  /**
   * Admits what has come since, where the last look is long enough ago; one at a time.
   *
   * @throws Failure `corrupt`: the manifest is damaged; `unavailable`: the store stays out of
   *         reach; `invalid`: there is nothing to train on
   */
  async look(admission: Admission): Promise<void> {
    const { clock } = this.#parts
    if (admission.isOver || clock.now() - this.#lookedAt < followMs) return
    this.#looking ??= this.lookNow(admission).finally(() => {
      this.#looking = undefined
      this.#lookedAt = clock.now()
    })
    await this.#looking
  }

  /** The same at once. */
  async lookNow(admission: Admission): Promise<void> {
    const { away, manifest } = this.#parts
    // Told of the end while it is read, what is read may not be all.
    const mode = this.#mode
    await away.until(() => manifest.replay(), this.#stop.signal)
    if (mode === 'ended' || admission.isComplete) admission.all()
    else admission.some()
  }
}
