import type { Hearing } from '../../actors/console/desk.ts'
import { topText } from '../../actors/console/top-text.ts'
import type { RunStatus } from '../../protocol/console.ts'
import { sleep } from '../../src/clock.ts'
import { explain, isFailure } from '../../src/failure.ts'
import { logLine } from './log-line.ts'

/** Lines that were typed on a terminal, each from its asking to its last word. */

/** Who knows of the run: it is in this process, or over its socket. */
export interface Asker {
  status(): Promise<RunStatus>
  completions(line: string): Promise<readonly string[]>
  /** @throws Failure: as the command throws it */
  run(line: string, hearing: Hearing): Promise<string>
}

/** The terminal, as far as an answer needs it. */
export interface Place {
  readonly columns: number
  /** Above the picture; it ends its line itself where `text` is a line of the log. */
  say(text: string): void
  write(text: string): void
  /** In place of the usual picture; null: the usual one again. */
  picture(lines: readonly string[] | null): void
  /** While the log is followed, nothing else of it is shown. */
  follows(following: boolean): void
  takeKeys(pressed: (keys: string) => void): () => void
}

const redrawMs = 1000
const ctrlC = '\x03'
const escapeKey = '\x1b'

export class Answering {
  readonly #asker: Asker
  readonly #place: Place
  /** The line that was typed last. */
  #latest: { readonly line: string } | undefined

  constructor(asker: Asker, place: Place) {
    this.#asker = asker
    this.#place = place
  }

  /** Settles at the line's last word, whatever was typed after it. */
  async answer(line: string): Promise<void> {
    if (line.trim() === '') return
    const typed = { line: line.trim() }
    this.#latest = typed
    const place = this.#place
    await answerTo(line, this.#asker, {
      ...place,
      // It may be drawn wider or narrower meanwhile.
      get columns() {
        return place.columns
      },
      // Below another line than its own, an answer says to which it belongs.
      say: (text) => place.say(this.#latest === typed ? text : named(typed.line, text)),
    })
  }
}

const named = (line: string, text: string): string =>
  text.includes('\n') ? `${line}:\n${text}` : `${line}: ${text}`

async function answerTo(line: string, asker: Asker, place: Place): Promise<void> {
  const [word] = line.trim().split(/\s+/)
  try {
    if (word === 'top') await showTop(line, asker, place)
    else if (word === 'log') await showLog(line, asker, place)
    else await showAnswer(line, asker, place)
  } catch (error) {
    place.say(refusalText(error))
  }
}

/** As a person reads it; of a bug, all there is. */
export function refusalText(error: unknown): string {
  if (isFailure(error)) return [`${explain(error)}.`, error.remedy ?? ''].join(' ').trimEnd()
  return error instanceof Error ? `a bug: ${error.stack ?? error.message}` : String(error)
}

const hearingAt = (place: Place, signal: AbortSignal): Hearing => ({
  say: (text) => place.say(text),
  follows: () => place.say('Any key ends it.'),
  log: (line) => place.write(logLine(line, place.columns)),
  columns: place.columns,
  signal,
})

async function showAnswer(line: string, asker: Asker, place: Place): Promise<void> {
  const answer = await asker.run(line, hearingAt(place, new AbortController().signal))
  if (answer !== '') place.say(answer)
}

/** Until any key. */
async function showLog(line: string, asker: Asker, place: Place): Promise<void> {
  const stop = new AbortController()
  const release = place.takeKeys(() => stop.abort())
  place.follows(true)
  try {
    await asker.run(line, hearingAt(place, stop.signal))
  } finally {
    place.follows(false)
    release()
  }
}

/** Until q, Escape or Ctrl-C. */
async function showTop(line: string, asker: Asker, place: Place): Promise<void> {
  const stop = new AbortController()
  // It is a command like others: noted, and refused where it is not known.
  await asker.run(line, { ...hearingAt(place, stop.signal), say: () => undefined })
  const release = place.takeKeys((keys) => {
    if (/^[qQ]/.test(keys) || keys.includes(ctrlC) || keys === escapeKey) stop.abort()
  })
  try {
    while (!stop.signal.aborted) {
      const text = topText(await asker.status(), place.columns)
      place.picture([...text.split('\n'), 'q ends it'])
      await sleep(redrawMs, undefined, stop.signal).catch(() => undefined)
    }
  } finally {
    place.picture(null)
    release()
  }
}
