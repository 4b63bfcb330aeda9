import { fitted } from '../../src/fitted.ts'

/** What a terminal is written through. */
export interface Output {
  readonly columns?: number
  readonly rows?: number
  write(text: string): unknown
}

/** Lines that scroll by, and below them a picture that is drawn over itself. */
export class Screen {
  readonly #out: Output
  /** Lines of the picture on the screen, above where the cursor is. */
  #drawn = 0

  constructor(out: Output) {
    this.#out = out
  }

  /** A full line would take the cursor to the next one. */
  get columns(): number {
    return (this.#out.columns || 80) - 1
  }

  /** The cursor has left the picture: what was drawn stays, and is drawn anew below. */
  left(): void {
    this.#drawn = 0
  }

  /** Lines that end, and the picture below them; as much of it as there is room for. */
  draw(lines: string, picture: readonly string[]): void {
    const most = Math.max(1, (this.#out.rows || 24) - 2)
    const shown = picture.length <= most ? picture : [...picture.slice(0, most - 1), '…']
    this.#out.write(`${this.#erased()}${lines}${shown.map((line) => `${line}\n`).join('')}`)
    this.#drawn = shown.length
  }

  /** In place of the picture, which has to be drawn again. */
  say(text: string): void {
    const { columns } = this
    const fit = (line: string) => (line.length <= columns ? line : fitted(line, columns, '    '))
    const lines = text.split('\n').map(fit)
    this.write(`${lines.join('\n')}\n`)
  }

  /** As it is; in place of the picture. */
  write(text: string): void {
    this.#out.write(`${this.#erased()}${text}`)
    this.#drawn = 0
  }

  /** Takes the cursor to the picture's first line, and clears from there. */
  #erased(): string {
    return `\r${this.#drawn > 0 ? `\x1b[${this.#drawn}A` : ''}\x1b[J`
  }
}
