/** What the demo's target reads: conversations, and some of this project's own text. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../src/clock.ts'
import { conversations } from '../../src/demo/conversations.ts'
import type { Exchange, Theme } from '../../src/demo/themes.ts'
import { marks, tokensOf } from '../../src/demo/tokens.ts'
import type { RowsShape } from './graph.ts'

/** Row-major; of each token that which comes next, and how much that counts. */
export interface Rows {
  readonly ids: BigInt64Array
  readonly labels: BigInt64Array
  /** They sum to 1. */
  readonly weights: Float32Array
}

/** What a question is can only be guessed: it counts a little, an answer whole. */
const questionWeight = 0.1
const sourceWeight = 0.3
/** Of the rows, the share that is source and prose. */
const sourceShare = 0.1

/** All TypeScript and Markdown of the project, one after the other. */
export function ownText(root: string): Buffer {
  const listed = execFileSync('git', ['ls-files', '*.ts', '*.md'], { cwd: root, encoding: 'utf8' })
  const files = listed.split('\n').filter((path) => path !== '' && !path.startsWith('test/'))
  return Buffer.concat(files.map((path) => readFileSync(join(root, path))))
}

/**
 * Rows of chance; the same `at` gives the same ones.
 *
 * @param from  `source` is null where rows are conversations alone
 */
export function drawRows(
  { rows, tokens }: RowsShape,
  from: { readonly themes: readonly Theme[]; readonly source: Buffer | null },
  at: { readonly seed: number; readonly step: number },
): Rows {
  const random = seededRandom(Math.floor(seededRandom(at.seed)() * 2 ** 32) ^ at.step)
  const drawn = conversations(random, from.themes)
  const count = rows * tokens
  const ids = new BigInt64Array(count)
  const labels = new BigInt64Array(count)
  const weights = new Float32Array(count)
  for (let row = 0; row < rows; row++) {
    const { text, weight } =
      from.source !== null && random() < sourceShare
        ? sourceRow(random, from.source, tokens + 1)
        : conversationRow(drawn, tokens + 1)
    for (let i = 0; i < tokens; i++) {
      const place = row * tokens + i
      ids[place] = BigInt(text[i])
      labels[place] = BigInt(text[i + 1])
      weights[place] = weight[i + 1]
    }
  }
  const sum = weights.reduce((all, weight) => all + weight, 0)
  return { ids, labels, weights: weights.map((weight) => weight / sum) }
}

interface Weighted {
  readonly text: number[]
  readonly weight: number[]
}

function sourceRow(random: Random, source: Buffer, length: number): Weighted {
  const start = Math.floor(random() * (source.length - length))
  const text = [marks.start, ...source.subarray(start, start + length - 1)]
  return { text, weight: text.map(() => sourceWeight) }
}

/** One conversation after the other, the last cut off. */
function conversationRow(drawn: Iterator<readonly Exchange[], never>, length: number): Weighted {
  const text: number[] = []
  const weight: number[] = []
  while (text.length < length) {
    const { ids, mask } = tokensOf(drawn.next().value)
    text.push(...ids)
    weight.push(...mask.map((one) => (one === 1 ? 1 : questionWeight)))
  }
  return { text: text.slice(0, length), weight: weight.slice(0, length) }
}
