/** The order log on this machine's disk: whoever serves the data after a crash goes on from it. */
import { appendFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diskFailure } from '../disk-failure.ts'
import { explain, hasCode, isFailure } from '../failure.ts'
import type { Log } from '../log.ts'
import { OrderLog } from './order-log.ts'

export class OrderFile {
  readonly #path: string
  /** Bytes that were written whole. */
  #length = 0

  constructor(work: string) {
    this.#path = join(work, 'training-order.bin')
  }

  /** Undefined where there is none, or none that can be read: a checkpoint has it too. */
  read(log: Log): OrderLog | undefined {
    try {
      return OrderLog.decode(
        this.#tried(() => readFileSync(this.#path)),
        'dropped',
      )
    } catch (error) {
      if (!isFailure(error)) throw error
      if (!hasCode(error.cause, 'ENOENT')) {
        log.warn({ reason: explain(error) }, 'an order log on this disk is of no use')
      }
      return undefined
    }
  }

  /** In place of what is there. @throws Failure `unavailable`: the disk is full; `invalid` */
  write(log: OrderLog): void {
    const bytes = log.encode()
    this.#tried(() => {
      writeFileSync(`${this.#path}.tmp`, bytes)
      renameSync(`${this.#path}.tmp`, this.#path)
    })
    this.#length = bytes.length
  }

  /**
   * In place of what an append has left that a full disk cut short: what stood behind that would
   * be read by nobody.
   *
   * @param bytes  behind those that `write` and `append` have written
   * @throws       as `write`
   */
  append(bytes: Buffer): void {
    this.#tried(() => {
      truncateSync(this.#path, this.#length)
      appendFileSync(this.#path, bytes)
    })
    this.#length += bytes.length
  }

  #tried<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw diskFailure(error, { what: 'the order log is not kept', path: this.#path })
    }
  }
}
