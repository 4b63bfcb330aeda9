import { appendFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '../../src/failure.ts'
import type { Person } from './person.ts'

/** Who told the run what, and what came of it: a line of JSON each, kept in the work folder. */

/**
 * Over the socket nobody is known but by what he says of himself. It opens to the run's own user
 * alone (and to root), so that he could do worse than lie.
 */
export type Source =
  | { readonly from: 'terminal'; readonly who: Person }
  | { readonly from: 'socket'; readonly says: Person | null }

export type Noted = Source & {
  readonly line: string
  /** `begun` of what may last, `done`, or why not. */
  readonly outcome: string
  /** What an order was answered. */
  readonly answer?: string
}

/** Beyond it the file is put aside, in place of the one before. */
const fileBytesMax = 1 << 20
const textMax = 500

export class CommandAudit {
  readonly #file: string
  readonly #now: () => number

  constructor(work: string, now: () => number = Date.now) {
    this.#file = join(work, 'audit.jsonl')
    this.#now = now
  }

  /** A disk that takes nothing loses the line, and harms nobody. */
  note({ line, outcome, answer, ...source }: Noted): void {
    const time = new Date(this.#now()).toISOString()
    const told = { line: cut(line), outcome: cut(outcome), answer: answer && cut(answer) }
    const noted = { time, ...told, ...source }
    try {
      this.#makeRoom()
      appendFileSync(this.#file, `${JSON.stringify(noted)}\n`, { mode: 0o600 })
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error
    }
  }

  #makeRoom(): void {
    try {
      if (statSync(this.#file).size < fileBytesMax) return
      renameSync(this.#file, this.#file.replace(/\.jsonl$/, '.1.jsonl'))
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
}

const cut = (text: string): string => (text.length <= textMax ? text : `${text.slice(0, textMax)}…`)
