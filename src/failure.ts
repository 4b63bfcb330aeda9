/** A kind exists only if someone acts differently on it. */
export type FailureKind =
  /** May pass: wait, then try again. */
  | 'unavailable'
  /** A person changes the configuration, the data or the machine. */
  | 'invalid'
  /** Rebuild it; never read past it. */
  | 'corrupt'
  /** Stop: another holds the run. */
  | 'superseded'

/**
 * An expected failure: facts in the message, what to do in the remedy, what lay beneath in the
 * cause. Anything else that is thrown is a bug, which ends its thread.
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly kind: FailureKind
  readonly remedy: string | undefined

  constructor(
    kind: FailureKind,
    message: string,
    options: { readonly remedy?: string; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.remedy = options.remedy
  }
}

/** Narrows to a Failure; with a kind, to one of that kind. */
export const isFailure = (error: unknown, kind?: FailureKind): error is Failure =>
  error instanceof Failure && (kind === undefined || error.kind === kind)

/** Whether it is an error of Node's own with one of these codes, such as `ENOENT`. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  codes.includes(error.code)

/**
 * The message with its causes, innermost last. Causes are others' words, a store's perhaps: they
 * come on one line, and no control character of theirs reaches a terminal.
 */
export function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const cause = error instanceof Error ? error.cause : undefined
  const beneath = cause === undefined ? '' : `: ${explain(cause).replace(/\s+/g, ' ')}`
  return printable(message) + beneath
}

/** Another's words, with no control character that would move a terminal's cursor. */
export const printable = (text: string): string => text.replace(/[^\P{Cc}\n]/gu, '\ufffd')
