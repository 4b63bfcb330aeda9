import { Failure } from '../failure.ts'

/** The store may be asked again, and has said when: not before `retryAfterMs` have passed. */
export class Throttled extends Failure {
  readonly retryAfterMs: number

  constructor(
    message: string,
    options: { readonly retryAfterMs: number; readonly remedy?: string; readonly cause?: unknown },
  ) {
    super('unavailable', message, options)
    this.retryAfterMs = options.retryAfterMs
  }
}
