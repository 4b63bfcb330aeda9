import { readFileSync } from 'node:fs'

/** A moment that the program has named while it ran. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly pid: number
  /** Its process's main thread is 0. */
  readonly thread: number
  readonly name: string
}

/** Noted by whoever ends a thread or a process, before it does; then a colon, and which. */
export const ended = 'ended'

/** In order of time; none where the file is not there yet. */
export function momentsIn(path: string): readonly Moment[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  // What follows the last line's end was being written at a death.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  const moments = lines.flatMap((line) => {
    const [at, pid, thread, name] = line.split(' ')
    if (name === undefined) return []
    return [{ at: Number(at), pid: Number(pid), thread: Number(thread), name }]
  })
  return moments.sort((a, b) => a.at - b.at)
}
