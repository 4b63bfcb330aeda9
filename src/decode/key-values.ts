/** A target's past: keys and values of every decoder layer, in memory that is asked for once. */
import type { TargetConfig } from '../models/config.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import { pastName, presentName } from './target-graph.ts'

/** What goes into a run, and where what comes out of it is written: the same memory. */
export interface KeyValueMemory {
  readonly past: Feeds
  readonly present: Feeds
}

/** @param capacity  in tokens: more than that cannot be kept */
export function keyValueMemory(
  { layers, kvHeads, headDim }: TargetConfig,
  capacity: number,
): KeyValueMemory {
  const past: Record<string, Feed> = {}
  const present: Record<string, Feed> = {}
  const shape = [1, kvHeads, capacity, headDim]
  for (let layer = 0; layer < layers; layer++) {
    for (const part of ['key', 'value'] as const) {
      const data = new Float32Array(kvHeads * capacity * headDim)
      const feed: Feed = { dtype: 'F32', shape, data }
      past[pastName(layer, part)] = feed
      present[presentName(layer, part)] = feed
    }
  }
  return { past, present }
}
