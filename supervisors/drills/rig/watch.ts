import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Breach, type Invariant, whileItRan } from '../../../src/audit/invariants.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Job } from './job.ts'
import type { S3Process } from './s3-process.ts'
import type { Scope } from './scope.ts'

/** What runs take of the store and of the disk at once, looked at while they run. */

const lookMs = 40

/** One run is looked at. */
export interface Watching {
  /** What can be seen of it. */
  readonly asked: readonly Invariant[]
  /** To be called at its end, before anybody else asks the store: what did not hold. */
  readonly ended: () => Promise<readonly Breach[]>
}

export class Watch {
  readonly #s3: S3Process | null
  /** How many runs there are now, and were at most since the requests are counted. */
  #running = 0
  #most = 0

  readonly #scope: Scope

  /** @param s3  null where the store is a user's own: nobody counts its requests */
  constructor(scope: Scope, s3: S3Process | null) {
    this.#scope = scope
    this.#s3 = s3
  }

  /**
   * A run of this job begins.
   *
   * @param disk  `unseen`: its spool lies on one that nobody else sees
   */
  begins({ config: path, work }: Job, disk: 'seen' | 'unseen'): Watching {
    const { spool, upload } = loadConfig(path).config
    if (this.#running === 0) this.#countAnew()
    this.#most = Math.max(this.#most, ++this.#running)
    let most = 0
    const timer = setInterval(() => {
      most = Math.max(most, bytesIn(join(work, 'spool')))
    }, lookMs)
    this.#scope.after(() => clearInterval(timer))
    const ended = async () => {
      clearInterval(timer)
      this.#running--
      const peak = (await this.#s3?.stats())?.peak
      return whileItRan({
        spool: { found: most, allowed: spool.maxBytes },
        ...(peak && { requests: { found: peak, allowed: this.#most * upload.maxParallel } }),
      })
    }
    const asked: Invariant[] = this.#s3 ? ['requests'] : []
    if (disk === 'seen') asked.push('room')
    return { asked, ended }
  }

  /** The drill's own requests before this do not count. */
  #countAnew(): void {
    this.#most = 0
    // Where the drill is being ended early, nobody answers any more.
    this.#s3?.statsAnew().catch(() => undefined)
  }
}

/** Of all files in a folder, whatever they are called; 0 where it is not there. */
export function bytesIn(dir: string): number {
  let bytes = 0
  try {
    for (const name of readdirSync(dir)) {
      bytes += statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0
    }
  } catch {
    // It is not there yet, or was taken away.
  }
  return bytes
}
