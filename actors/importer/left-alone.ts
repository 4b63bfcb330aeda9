import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { diskFailure } from '../../src/disk-failure.ts'
import { explain, isFailure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import type { Left, LeftReason } from '../../src/sample/earlier.ts'

/** The files that were left alone: counted by reason, named in a file of JSON lines. */
export class LeftAlone {
  readonly counts = new Map<LeftReason, number>()
  readonly #path: string
  readonly #log: Log

  constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
  }

  /** Everything is looked at from the start. */
  begin(): void {
    this.counts.clear()
    this.#tried(() => {
      mkdirSync(dirname(this.#path), { recursive: true })
      writeFileSync(this.#path, '')
    })
  }

  add(file: string, { left, facts }: Left): void {
    this.counts.set(left, (this.counts.get(left) ?? 0) + 1)
    const line = JSON.stringify({ file, reason: left, facts })
    this.#tried(() => appendFileSync(this.#path, `${line}\n`))
  }

  /** A list that cannot be written keeps nobody from taking the files that prove. */
  #tried(write: () => void): void {
    try {
      write()
    } catch (error) {
      const what = 'the list of files left alone is not written'
      const failure = diskFailure(error, { what, path: this.#path })
      if (!isFailure(failure)) throw error
      this.#log.warn({ reason: explain(failure) }, 'a file left alone may not be listed')
    }
  }
}
