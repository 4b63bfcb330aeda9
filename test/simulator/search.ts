import { request } from '../../protocol/contract.ts'

/** What a thread that simulates is asked. */

export interface Chunk {
  /** Seeds, the last of them excluded. */
  readonly from: number
  readonly to: number
  /** A faulty part to put in; null: the product as it is. */
  readonly part: string | null
  /** Each seed is run again, and must come to the same event log. */
  readonly twice: boolean
}

export interface Failing {
  readonly seed: number
  readonly violation: string
}

/** Of the seeds up to the one that fails, or of all. */
export interface Found {
  readonly crashes: number
  readonly steps: number
  readonly failing: Failing | null
}

const withinMs = 30 * 60_000

export const searchContract = {
  search: request<Chunk, Found>({ withinMs }),
  /** A failing seed for people to read, line by line. */
  tell: request<Pick<Failing, 'seed'> & Pick<Chunk, 'part'>, string[]>({ withinMs }),
  /** Faulty ones that there are. */
  parts: request<void, string[]>({ withinMs }),
  close: request<void, void>(),
}
