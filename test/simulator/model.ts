import type { LoadedModel } from '../../actors/extractor/model.ts'
import { sleep } from '../../src/clock.ts'
import { sampleMetadata } from '../../src/sample/encode.ts'
import type { Life } from './world.ts'

/** A target whose hidden states follow from the token ids alone, as a real one's do. */

export const captures = ['layer_1', 'layer_2'] as const
export const hidden = 2
export const fingerprint = 'f'.repeat(64)
export const metadata = sampleMetadata(fingerprint, captures)

const loadMaxMs = 60
const batchMaxMs = 90

/** What some rows do to whoever computes them, by their first token. */
export interface Evil {
  /** It ends its extractor, each time. */
  readonly poison: number | null
  /** Its states are not finite. */
  readonly nan: number | null
}

/** @param life  of the extractor that loads it */
export async function loadSimulated(life: Life, evil: Evil): Promise<LoadedModel> {
  await sleep(life.random() * loadMaxMs, life.clock)
  return {
    captures,
    hidden,
    metadata,
    forward: async ({ ids, rows, width }) => {
      await sleep(life.random() * batchMaxMs, life.clock)
      const firsts = Array.from({ length: rows }, (_, row) => Number(ids[row * width]))
      if (evil.poison !== null && firsts.includes(evil.poison)) life.end('native abort', abort())
      return captures.map((_, layer) => statesOf(ids, layer, { width, nan: evil.nan }))
    },
    release: async () => undefined,
  }
}

const abort = (): Error => new Error('native code aborts')

function statesOf(
  ids: BigInt64Array,
  layer: number,
  { width, nan }: { readonly width: number; readonly nan: number | null },
): Float32Array {
  const states = new Float32Array(ids.length * hidden)
  ids.forEach((id, at) => {
    const first = Number(ids[at - (at % width)])
    for (let h = 0; h < hidden; h++) {
      const value = Math.fround(Math.sin(Number(id) * 31 + (at % width) * 7 + layer * 3 + h))
      states[at * hidden + h] = first === nan ? Number.NaN : value
    }
  })
  return states
}
