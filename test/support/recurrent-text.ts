/** A target whose past is a state, as a hybrid model's linear attention has one: a small net. */
import { seededRandom } from '../../src/clock.ts'
import type { TargetText } from '../../src/decode/text.ts'

const width = 16
export const recurrentVocab = 24

/** `restores`: the state after the last token that is kept; `forgets`: as the last read left it. */
export type AfterKeep = 'restores' | 'forgets'

/** state ← tanh(A·state + E[token]); logits = W·state. Weights are drawn from a fixed seed. */
export function recurrentText(afterKeep: AfterKeep): TargetText {
  const drawn = seededRandom(5)
  const matrix = (rows: number, scale: number) =>
    Array.from({ length: rows }, () => Array.from({ length: width }, () => scale * (drawn() - 0.5)))
  const weights = {
    a: matrix(width, 1.5),
    e: matrix(recurrentVocab, 4),
    w: matrix(recurrentVocab, 2),
  }
  let state: readonly number[] = Array(width).fill(0)
  let length = 0
  /** After each token of the last read. */
  let states: (readonly number[])[] = []
  return {
    get length() {
      return length
    },
    async read(ids, want) {
      states = []
      for (const id of ids) {
        const before = states.at(-1) ?? state
        const moved = weights.a.map((row, i) => Math.tanh(dot(row, before) + weights.e[id][i]))
        states.push(moved)
      }
      const wanted = want === 'all' ? states : states.slice(-1)
      const data = Float32Array.from(wanted.flatMap((s) => weights.w.map((row) => dot(row, s))))
      return { logits: { data, vocabSize: recurrentVocab }, hidden: new Float32Array(ids.length) }
    },
    keep(count) {
      length += count
      state = states[afterKeep === 'restores' ? count - 1 : states.length - 1]
    },
  }
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, x, i) => sum + x * b[i], 0)
