import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const kept = 1000
const mode = 0o600

/** What was typed at the consoles of a work folder, over all sessions; its owner's alone. */
export class LineHistory {
  readonly #file: string

  /** @param folder  that of the console, which is there */
  constructor(folder: string) {
    this.#file = join(folder, 'history')
  }

  /** The latest first. */
  read(): string[] {
    const lines = this.#tried(() => readFileSync(this.#file, 'utf8').split('\n')) ?? []
    const typed = lines.filter((line) => line !== '')
    const latest = typed.slice(-kept)
    if (typed.length > 2 * kept) {
      this.#tried(() => writeFileSync(this.#file, `${latest.join('\n')}\n`, { mode }))
    }
    return latest.reverse()
  }

  add(line: string): void {
    if (line.trim() === '') return
    this.#tried(() => appendFileSync(this.#file, `${line}\n`, { mode }))
  }

  /** A disk that does not keep what was typed keeps nobody from typing. */
  #tried<T>(what: () => T): T | undefined {
    try {
      return what()
    } catch (error) {
      if (error instanceof Error && 'syscall' in error) return undefined
      throw error
    }
  }
}
