/** One request and its answer over a kept-alive connection, each of its waits under a deadline. */
import type { Deadline } from './deadline.ts'
import type { Incoming } from './http-answer.ts'
import { dial, type Line, type LineLimits, type LineTo } from './s3-line.ts'

export interface Outgoing {
  readonly method: string
  readonly path: string
  /** The Host header and the body's length among them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * The connections to one place: kept for the next request, and closed when none comes for long. As
 * many as there are requests at once: how many that may be is the permits' business.
 */
export class Exchange {
  readonly #to: LineTo
  readonly #limits: LineLimits
  readonly #all = new Set<Line>()
  readonly #free: Line[] = []
  /** Of TLS: a new connection begins with it, and need not agree on keys anew. */
  #session: Buffer | undefined

  constructor(to: LineTo, limits: LineLimits) {
    this.#to = to
    this.#limits = limits
  }

  /** Connections that stand or are being made, and those of them that nobody uses. */
  get lines(): { readonly all: number; readonly free: number } {
    return { all: this.#all.size, free: this.#free.length }
  }

  /** @throws Error named `TimeoutError` past a deadline; with a code for the rest */
  async put(outgoing: Outgoing, deadline: Pick<Deadline, 'onPassed'>): Promise<Incoming> {
    const head = headOf(outgoing)
    const line = this.#take()
    deadline.onPassed(() => line.giveUp('the whole of it'))
    try {
      return await line.send(head, outgoing.body)
    } finally {
      deadline.onPassed(undefined)
    }
  }

  close(): void {
    for (const line of this.#all) line.destroy()
  }

  /** The one that was used last: most likely the store has not closed it meanwhile. */
  #take(): Line {
    for (let line = this.#free.pop(); line; line = this.#free.pop()) {
      if (line.isFresh) return line
      line.destroy()
    }
    return this.#dial()
  }

  #dial(): Line {
    const line = dial(this.#to, this.#limits, {
      known: this.#session,
      session: (session) => {
        this.#session = session
      },
      free: (free) => this.#free.push(free),
      closed: (closed) => {
        this.#all.delete(closed)
        const at = this.#free.indexOf(closed)
        if (at >= 0) this.#free.splice(at, 1)
      },
    })
    this.#all.add(line)
    return line
  }
}

/** @throws Error with a code: a header has a character that would end it */
function headOf({ method, path, headers }: Outgoing): string {
  let head = `${method} ${path} HTTP/1.1\r\n`
  for (const name of Object.keys(headers)) {
    const value = headers[name] ?? ''
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw noHeader(name)
    head += `${name}: ${value}\r\n`
  }
  return `${head}\r\n`
}

/** By the code that Node's client gives it. */
const noHeader = (name: string): Error =>
  Object.assign(new Error(`a header has a character too many. name=${name}`), {
    code: 'ERR_INVALID_CHAR',
  })
