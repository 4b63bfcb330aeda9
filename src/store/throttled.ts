import { Failure } from '../failure.ts'

/** The store has too much to do: it may be asked again, and by fewer at once. */
export class Throttled extends Failure {
  /** Not before so many milliseconds have passed; 0 where the store does not say. */
  readonly retryAfterMs: number

  constructor(
    message: string,
    options: { readonly retryAfterMs: number; readonly remedy?: string; readonly cause?: unknown },
  ) {
    super('unavailable', message, options)
    this.retryAfterMs = options.retryAfterMs
  }
}
