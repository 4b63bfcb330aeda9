import { lockKey } from '../../src/manifest/holder.ts'
import type { Life } from './world.ts'

/** Which processes hold the run, by what they write into its lock: of two that live, one. */

/** Less than the time after which a silent holder is given up, by more than an answer may take. */
const surelyHeldMs = 20_000

export class Holders {
  #last: { readonly process: Life; readonly at: number } | undefined

  /** What is wrong with this change; undefined: nothing. */
  changed(key: string, bytes: Buffer | undefined, by: Life | null): string | undefined {
    if (key !== lockKey || !by) return undefined
    const process = by.root
    const last = this.#last
    const now = process.world.now
    this.#last = bytes && process.alive ? { process, at: now } : undefined
    if (!last?.process.alive || last.process === process || !process.alive) return undefined
    if (now - last.at > surelyHeldMs) return undefined
    return `${process.name} took the run from ${last.process.name}, which lives`
  }
}
