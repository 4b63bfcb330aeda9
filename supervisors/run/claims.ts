import { type DiskUse, systemDiskUse } from '../../src/disk.ts'
import { Failure, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { type Claims, openClaims } from '../../src/spool/claims.ts'
import { deathBefore, tellLauncher } from '../launcher.ts'

/** What deaths say of batches, as the process sees it that outlives its threads. */
export class RunClaims {
  readonly #work: string
  readonly #log: Log
  readonly #use: DiskUse

  constructor(work: string, log: Log, use = systemDiskUse) {
    this.#work = work
    this.#log = log
    this.#use = use
  }

  /**
   * Claims that the process before left: its death counts where someone saw it.
   *
   * @returns  why the run must not go on; null where it may
   */
  judgeBefore(): Failure | null {
    const claims = openClaims(this.#work, this.#use)
    const before = deathBefore()
    const blamed = claims.chargeAll({ witnessed: before !== null })
    if (blamed.length > 0) {
      const death = before ?? 'unseen'
      this.#log.warn({ batches: blamed, death }, 'batches were under way at a death')
      if (before !== null) void tellLauncher({ blamed: 'batch' })
    }
    return claims.storm() ? storm() : null
  }

  /** Whether extractors die of whatever they are given. */
  storm(): Failure | null {
    return this.#tried((claims) => (claims.storm() ? storm() : null)) ?? null
  }

  /** These were ended by order: what they held is not to blame for that. */
  forgive(actors: readonly string[]): void {
    this.#tried((claims) => {
      for (const id of actors) claims.forgive(id)
    })
  }

  /** Every row has come to its end. */
  settle(): void {
    this.#tried((claims) => claims.settle())
  }

  /** Claims tell what to blame; without them the run goes on, and blames less well. */
  #tried<T>(use: (claims: Claims) => T): T | undefined {
    try {
      return use(openClaims(this.#work, this.#use))
    } catch (error) {
      if (!isFailure(error)) throw error
      this.#log.warn({ err: error }, 'claims cannot be read or written')
      return undefined
    }
  }
}

const storm = (): Failure =>
  new Failure('unavailable', 'three different batches in a row ended their extractors', {
    remedy: 'Look at the device, its driver and its memory; then run again.',
  })
