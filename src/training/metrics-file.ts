import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../clock.ts'

/** What steps gave, for people and for other tools. */

export const metricsFile = (work: string): string => join(work, 'training.jsonl')

/**
 * One line a step, JSON; a step that is done again after a restart stands there again. Trainings of
 * one folder, one begun after the other, are told apart by their ids.
 */
export class Metrics {
  readonly #path: string
  readonly #training: string
  readonly #clock: Clock

  constructor(
    { work, training }: { readonly work: string; readonly training: string },
    clock: Clock = systemClock,
  ) {
    this.#path = metricsFile(work)
    this.#training = training
    this.#clock = clock
  }

  /** `kind`: of a step, or of a look at held-out samples. */
  write(kind: 'step' | 'heldOut', facts: Readonly<Record<string, unknown>>): void {
    const training = this.#training
    const time = new Date(this.#clock.now()).toISOString()
    appendFileSync(this.#path, `${JSON.stringify({ time, training, kind, ...facts })}\n`)
  }
}
