import type { Log } from '../log.ts'

/** As many are told by name, the latest. */
const namedMax = 100

export interface LeftOutSample {
  readonly hash: string
  readonly reason: string
}

/** Samples that were planned and could not be used: each counted once, named in the log. */
export class LeftOut {
  readonly #log: Log
  readonly #hashes = new Set<string>()
  #latest: LeftOutSample[] = []

  constructor(log: Log) {
    this.#log = log
  }

  get count(): number {
    return this.#hashes.size
  }

  get latest(): readonly LeftOutSample[] {
    return this.#latest
  }

  note(hash: string, reason: string): void {
    if (this.#hashes.has(hash)) return
    this.#hashes.add(hash)
    this.#latest = [...this.#latest, { hash, reason }].slice(-namedMax)
    this.#log.warn({ hash, reason }, 'a sample is not trained on')
  }
}
