import type { Backoff } from '../protocol/child.ts'

/** Between a death and the next start: quick at first, for most deaths are chance. */
export const backoff: Backoff = {
  firstMs: 100,
  factor: 2,
  capMs: 10_000,
  jitter: 0.2,
  quietMs: 5 * 60_000,
}
