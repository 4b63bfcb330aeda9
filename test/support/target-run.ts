/**
 * Runs a target as an extractor does, for tests: rows padded into a batch, each row's own states
 * out.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Captures, captureNames, hiddenStatesGraph } from '../../src/models/hidden-states.ts'
import { openTarget } from '../../src/models/target.ts'
import type { Feed } from '../../src/session/feed.ts'
import { prepareModel } from '../../src/session/prepare.ts'
import { openSession } from '../../src/session/session.ts'

/** A folder that goes when the test ends. */
export async function scratch(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'draftsmith-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** One row's states by capture: [tokens, hidden], row-major. */
export type RowStates = ReadonlyMap<string, Float32Array | Uint16Array>

type RunRows = (rows: readonly (readonly number[])[]) => Promise<RowStates[]>

export async function openRun(
  t: TestContext,
  dir: string,
  captures: Partial<Captures> = {},
): Promise<RunRows> {
  const target = await openTarget(dir)
  const wanted: Captures = {
    layers: Array.from({ length: target.layers }, (_, id) => id),
    captureFinal: false,
    dtype: 'f32',
    ...captures,
  }
  const graph = hiddenStatesGraph(target, wanted)
  const model = await prepareModel(graph, await scratch(t), () => {})
  const session = await openSession(model, { device: 'cpu', threads: 2 })
  t.after(() => session.release())
  return async (rows) => {
    const input = padded(rows)
    const results = await session.run({ input_ids: input })
    return rows.map((row, index) => {
      const from = index * input.shape[1] * target.hiddenSize
      const cut = (name: string) => {
        const { data } = results[name]
        if (data instanceof BigInt64Array) throw new Error(`${name} is integers`)
        return data.slice(from, from + row.length * target.hiddenSize)
      }
      return new Map(captureNames(wanted).map((name) => [name, cut(name)]))
    })
  }
}

function padded(rows: readonly (readonly number[])[]): Feed {
  const width = Math.max(...rows.map((row) => row.length))
  const data = new BigInt64Array(rows.length * width)
  rows.forEach((row, index) => {
    data.set(row.map(BigInt), index * width)
  })
  return { dtype: 'I64', shape: [rows.length, width], data }
}

/** The largest difference between two lists of numbers; infinite where their lengths differ. */
export function maxAbsDiff(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY
  let worst = 0
  for (let i = 0; i < a.length; i++) {
    const diff = Math.abs(a[i] - b[i])
    // Written so that a NaN on either side counts.
    if (!(diff <= worst)) worst = Number.isNaN(diff) ? Number.POSITIVE_INFINITY : diff
  }
  return worst
}
