/** What a small target answers, greedily: by a graph of one shape, without a cache. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { demoTokensMax } from '../../src/demo/conversations.ts'
import { marks } from '../../src/demo/tokens.ts'
import { parseTargetConfig } from '../../src/models/config.ts'
import { openSafetensors, readTensor } from '../../src/safetensors/read.ts'
import type { Feeds } from '../../src/session/feed.ts'
import { openTrainingSession } from '../../src/session/training-session.ts'
import { bfloat16ToFloat32 } from '../../src/tensor/bfloat16.ts'
import { elements } from '../../src/tensor/tensor.ts'
import { causalGraph } from './graph.ts'

/** The target's first choice after each of the tokens. */
export type Next = (ids: readonly number[]) => Promise<readonly number[]>

/** @param dir  of a checkpoint in bfloat16 */
export async function openGreedy(dir: string, threads: number): Promise<Next> {
  const path = join(dir, 'config.json')
  const config = parseTargetConfig(JSON.parse(readFileSync(path, 'utf8')), path)
  const shape = [demoTokensMax]
  const { graph, parameters } = causalGraph(
    config,
    { rows: 1, tokens: demoTokensMax },
    { trains: false },
  )
  const session = await openTrainingSession(graph, { device: 'cpu', threads })
  const file = await openSafetensors(join(dir, 'model.safetensors'))
  const weights: Record<string, Feeds[string]> = {}
  for (const { name, shape } of parameters) {
    const data = bfloat16ToFloat32(elements(await readTensor(file, name), 'BF16'))
    weights[name] = { dtype: 'F32', shape: shape.map(Number), data }
  }
  const input = { dtype: 'I64' as const, shape, data: new BigInt64Array(demoTokensMax) }
  const numbers = { dtype: 'F32' as const, shape, data: new Float32Array(demoTokensMax) }
  const predicted = { dtype: 'I64' as const, shape, data: new BigInt64Array(demoTokensMax) }
  const loss = { dtype: 'F32' as const, shape: [], data: new Float32Array(1) }
  return async (ids) => {
    input.data.fill(0n)
    input.data.set(ids.map(BigInt))
    await session.run(
      { ...weights, input_ids: input, labels: input, weights: numbers },
      { loss, cross_entropy: numbers, predicted },
    )
    return Array.from(predicted.data.subarray(0, ids.length), Number)
  }
}

/**
 * @param before  all tokens up to the answer
 * @param guess   what the answer might be, its end mark included: one run where it is right
 * @returns       the answer's tokens, its end mark included; undefined where it finds no end
 */
export async function greedyAnswer(
  next: Next,
  before: readonly number[],
  guess: readonly number[],
): Promise<number[] | undefined> {
  const answer: number[] = []
  let draft = guess
  while (before.length + answer.length + draft.length <= demoTokensMax) {
    const chosen = await next([...before, ...answer, ...draft])
    const from = before.length + answer.length - 1
    const wrong = draft.findIndex((token, i) => chosen[from + i] !== token)
    if (wrong === -1 && draft.at(-1) === marks.end) return [...answer, ...draft]
    const agreed = wrong === -1 ? draft.length : wrong
    const own = chosen[from + agreed]
    answer.push(...draft.slice(0, agreed), own)
    if (own === marks.end) return answer
    draft = []
  }
  return undefined
}
