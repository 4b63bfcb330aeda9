import type { JobOptions } from './rig/materials.ts'
import type { Rig } from './rig/rig.ts'

/** One thing that goes wrong, done on purpose to the real program. */
export interface Drill {
  readonly name: string
  /** What it breaks: a sentence. */
  readonly breaks: string
  /** Why that matters: a sentence. */
  readonly matters: string
  /** How long it takes alone, its undisturbed run included, on two cores that do nothing else. */
  readonly seconds: number
  /** Absent: it does without, and runs on a user's own configuration too. */
  readonly needs?: readonly Need[]
  /** Absent: as the materials have it. */
  readonly job?: JobOptions
  run(rig: Rig): Promise<void>
}

/**
 * `embedded`: the store that comes with the program, which goes wrong on demand. `demo`: the
 * demo's target and rows. `mount`: leave to mount a small disk of its own, as root has it or a user
 * with namespaces of his own.
 */
export type Need = 'embedded' | 'demo' | 'mount'
