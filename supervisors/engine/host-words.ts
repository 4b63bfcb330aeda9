import type { PackedError } from '../../protocol/packed-error.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import type { LogTarget } from '../../src/log.ts'

/** What a process that holds one actor is told, and what it tells, beside the actor's own ports. */

/** The descriptor of the stream that carries the actor's ports, in the process that holds it. */
export const portsFd = 4

/** Its first word, and the only one. */
export interface HostBirth {
  readonly id: string
  readonly generation: number
  /** URL of the actor's entry. */
  readonly entry: string
  readonly input: unknown
  readonly heartbeatMs: number
  readonly log: LogTarget
}

export type HostWord =
  | { readonly pulse: PulseReading }
  /** The actor is gone, and the process goes after it. */
  | { readonly code: number; readonly error: PackedError | undefined }
