import type { RunStatus } from '../../protocol/console.ts'
import type { Failure } from '../../src/failure.ts'
import type { NoticePlace } from './preemption-notice.ts'

/** How a run has ended, and where it stood then. */
export interface RunResult {
  /** Of the process: one of `exitCodes`, or a signal's. */
  readonly code: number
  /** Why it gave up, where it did. */
  readonly failure: Failure | null
  /** Where the spot notice was that stopped it. */
  readonly notice?: NoticePlace
  readonly status: RunStatus
}
