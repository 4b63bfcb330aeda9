import { request } from '../../../protocol/contract.ts'
import type { FailureKind } from '../../../src/failure.ts'

/** An actor that dies, blocks and fails as it is told. */

/** Ways to end in mid-job. `hang` ends nothing: something else has to. */
export type Way = 'exit 0' | 'exit 3' | 'throw' | 'reject' | 'bug' | 'abort' | 'hang'

export interface PuppetInput {
  /** Shared with the test, of a thread. [0] counts the jobs that were begun, [1] the drains. */
  readonly counts: Int32Array<SharedArrayBuffer>
  /** Its first so many starts fail before it is ready. */
  readonly failingStarts?: number
  /** What those starts meet; `unavailable` unless given. */
  readonly startFailure?: FailureKind
  /** Its first so many lives end so soon after it was ready. */
  readonly shortLives?: { readonly lives: number; readonly afterMs: number; readonly way: Way }
  /** It never says that it is ready. */
  readonly mute?: boolean
  /** Signs of life before it is ready. */
  readonly beatsAtStart?: number
  readonly drainTakesMs?: number
}

/** Some of all that a message may hold. */
export interface Echoed {
  readonly floats: Float32Array<ArrayBuffer>
  readonly rest: unknown
}

export const newCounts = (): Int32Array<SharedArrayBuffer> =>
  new Int32Array(new SharedArrayBuffer(8))

export const puppetContract = {
  /** Answers which life of the actor this is. */
  generation: request<void, number>(),
  /** The first job ever begun ends the thread in mid-job; later ones answer their number. */
  job: request<Way, number>({ withinMs: 20_000 }),
  die: request<Way, void>(),
  /** Of the process that it is in. */
  pid: request<void, number>(),
  /** Answers what it is given, and gives it away. */
  echo: request<Echoed, Echoed>(),
  /** Writes 2,000 lines and a fatal one, then ends so. */
  lastWords: request<Way, void>(),
  /** Takes memory until it is ended for it. */
  grow: request<void, void>(),
  unclonable: request<void, () => void>(),
  /** Who has asked in this life, and who has ended, in order. */
  askers: request<void, readonly string[]>(),
  /** Loops without yielding. */
  block: request<{ readonly ms: number; readonly announcedMs?: number }, void>(),
  /** Sleeps inside the gate, as native code would. */
  insideGate: request<{ readonly ms: number; readonly announcedMs?: number }, void>(),
}
