/** What a training's steps gave, for people and for other tools: one line of JSON each. */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, wallClock } from '../clock.ts'
import { diskFailure } from '../disk-failure.ts'
import { explain, isFailure } from '../failure.ts'
import type { Log } from '../log.ts'

export const metricsPath = (work: string): string => join(work, 'training.jsonl')

export interface MetricsParts {
  readonly work: string
  readonly training: string
  readonly log: Log
  readonly clock?: Clock
}

/**
 * A step that is done again after a restart stands there again; trainings of one folder, one begun
 * after the other, are told apart by their ids. A line is there whole or not at all. A disk that
 * refuses one costs the line, and no training.
 */
export class MetricsFile {
  readonly #path: string
  readonly #training: string
  readonly #log: Log
  readonly #clock: Clock
  /** Since the last line that was written. */
  #lost = 0

  constructor({ work, training, log, clock = wallClock }: MetricsParts) {
    this.#path = metricsPath(work)
    this.#training = training
    this.#log = log
    this.#clock = clock
  }

  /** `kind`: of a step, or of a look at held-out samples. */
  write(kind: 'step' | 'heldOut', facts: Readonly<Record<string, unknown>>): void {
    const training = this.#training
    const time = new Date(this.#clock.now()).toISOString()
    const line = `${JSON.stringify({ time, training, kind, ...facts })}\n`
    try {
      appendWhole(this.#path, Buffer.from(line))
    } catch (error) {
      const failure = diskFailure(error, { what: 'line not written', path: this.#path })
      if (!isFailure(failure)) throw error
      this.#missed(explain(failure))
      return
    }
    this.#tellLost('is written again')
    this.#lost = 0
  }

  /** Tells of what is still lost: no more lines will come. */
  end(): void {
    this.#tellLost('ends')
  }

  #missed(reason: string): void {
    const facts = { path: this.#path, reason }
    if (this.#lost === 0) this.#log.warn(facts, 'lines of training.jsonl are lost from here on')
    this.#lost++
  }

  #tellLost(what: string): void {
    if (this.#lost === 0) return
    this.#log.warn(
      { path: this.#path, lines: this.#lost },
      `training.jsonl ${what}: lines were lost`,
    )
  }
}

/** Whatever stands behind the last whole line, of a process that was killed, goes first. */
function appendWhole(path: string, line: Buffer): void {
  const file = openSync(path, 'a+')
  try {
    const end = endOfLines(file)
    try {
      for (let at = 0; at < line.length; ) at += writeSync(file, line, at)
    } catch (error) {
      ftruncateSync(file, end)
      throw error
    }
  } finally {
    closeSync(file)
  }
}

const newline = 0x0a
/** Longer than a line. */
const tailBytes = 65_536

/** Bytes up to the last newline and with it; what is behind them is cut off. */
function endOfLines(file: number): number {
  const { size } = fstatSync(file)
  const last = Buffer.alloc(1)
  if (size === 0 || (readSync(file, last, 0, 1, size - 1) === 1 && last[0] === newline)) return size
  const tail = Buffer.alloc(Math.min(size, tailBytes))
  readSync(file, tail, 0, tail.length, size - tail.length)
  const end = size - tail.length + tail.lastIndexOf(newline) + 1
  ftruncateSync(file, end)
  return end
}
