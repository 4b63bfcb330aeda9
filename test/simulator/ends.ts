import { explain, isFailure } from '../../src/failure.ts'
import type { Ended } from './machine.ts'

/** Why a run may rightly give up here. */
const causes = [
  'too many restarts',
  'three different batches',
  'the store has taken nothing',
  'did not answer in time',
  'stays unavailable',
  'SlowDown',
  'the drain did not end',
  'ENOSPC',
]

/** An end that nothing here explains. */
export function unexplained(ended: Ended): string | undefined {
  const error = ended.kind === 'result' ? ended.result.failure : ended.error
  if (error === undefined || error === null) return undefined
  if (!isFailure(error)) return `a process ${ended.kind}: ${detail(error)}`
  if (error.kind === 'superseded') return undefined
  const isCaused =
    error.kind === 'unavailable' && causes.some((cause) => explain(error).includes(cause))
  return isCaused ? undefined : `a run ends without a cause: ${explain(error)}`
}

/**
 * What a run refuses to read, and says that a person is to restore or remove: an object of which
 * the store kept half and said that it kept all, before who put it could look.
 */
export function refusedHalf(ended: Ended, halves: ReadonlySet<string>): string | undefined {
  const error = ended.kind === 'result' ? ended.result.failure : ended.error
  if (!isFailure(error)) return undefined
  const told = explain(error)
  return [...halves].find((key) => told.includes('damaged') && told.includes(`key=${key},`))
}

const detail = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
