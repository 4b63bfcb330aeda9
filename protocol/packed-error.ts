import { Failure, type FailureKind } from '../src/failure.ts'

/** How an error crosses between threads: a structured clone would drop its class and its fields. */
export interface PackedError {
  readonly name: string
  readonly message: string
  /** A Failure's; absent for any other error. */
  readonly kind?: FailureKind
  readonly remedy?: string
  readonly stack?: string
  readonly cause?: PackedError
}

/** Deeper chains of causes are a loop. */
const causesMax = 16

export function packError(error: unknown, depth = 0): PackedError {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error) }
  const cause =
    error.cause === undefined || depth === causesMax
      ? {}
      : { cause: packError(error.cause, depth + 1) }
  if (error instanceof Failure) {
    const { name, message, kind, remedy } = error
    return { name, message, kind, ...(remedy === undefined ? {} : { remedy }), ...cause }
  }
  const stack = error.stack === undefined ? {} : { stack: error.stack }
  return { name: error.name, message: error.message, ...stack, ...cause }
}

/** A Failure comes back as one; any other error as an Error with its name and its stack. */
export function unpackError(packed: PackedError): Error {
  const cause = packed.cause === undefined ? {} : { cause: unpackError(packed.cause) }
  if (packed.kind !== undefined) {
    const remedy = packed.remedy === undefined ? {} : { remedy: packed.remedy }
    return new Failure(packed.kind, packed.message, { ...remedy, ...cause })
  }
  const error = new Error(packed.message, cause)
  error.name = packed.name
  if (packed.stack !== undefined) error.stack = packed.stack
  return error
}

const kinds: ReadonlySet<unknown> = new Set<FailureKind>([
  'unavailable',
  'invalid',
  'corrupt',
  'superseded',
])
const isKind = (kind: unknown): kind is FailureKind => kinds.has(kind)

/**
 * The error that ended a thread, as its Worker's `error` event tells it: the class is lost there,
 * the fields are kept. One of this thread stays what it is. Undefined where it was no Failure.
 */
export function reviveFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error
  if (!(error instanceof Error) || error.name !== 'Failure') return undefined
  if (!('kind' in error) || !isKind(error.kind)) return undefined
  const remedy = 'remedy' in error && typeof error.remedy === 'string' ? error.remedy : undefined
  const cause =
    error.cause === undefined ? {} : { cause: reviveFailure(error.cause) ?? error.cause }
  return new Failure(error.kind, error.message, {
    ...(remedy === undefined ? {} : { remedy }),
    ...cause,
  })
}
