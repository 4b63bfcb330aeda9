/** The demo's tokens: one a byte of UTF-8, and marks between those who speak. */
import type { Exchange } from './themes.ts'

/** Token ids are bytes, and above them these; the vocabulary's rest is spare. */
export const marks = { start: 256, user: 257, assistant: 258, end: 259 } as const
export const demoVocab = 512

/** As long as each other; `mask` is 1 on the assistant's words and on the mark that ends them. */
export interface Tokens {
  readonly ids: readonly number[]
  readonly mask: readonly (0 | 1)[]
}

export function tokensOf(exchanges: readonly Exchange[]): Tokens {
  const ids: number[] = [marks.start]
  const mask: (0 | 1)[] = [0]
  const add = (tokens: readonly number[], supervised: 0 | 1): void => {
    for (const token of tokens) {
      ids.push(token)
      mask.push(supervised)
    }
  }
  for (const { question, answer } of exchanges) {
    add(asked(question), 0)
    add([...Buffer.from(answer), marks.end], 1)
  }
  return { ids, mask }
}

/** What stands before an answer. */
export const asked = (question: string): number[] => [
  marks.user,
  ...Buffer.from(question),
  marks.end,
  marks.assistant,
]
