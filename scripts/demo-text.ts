/**
 * Writes the demo's text: questions that are drawn, answered by the demo's target itself. Says of
 * each theme how many answers are right, and how much of a held-out tenth stands in the rest.
 *
 * node build/scripts/demo-text.js [--target DIR] [--out DIR] [--threads N]
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/clock.ts'
import { demoAssets } from '../src/demo/assets.ts'
import { conversations } from '../src/demo/conversations.ts'
import { demoRows, demoTexts } from '../src/demo/dataset.ts'
import { overlap } from '../src/demo/overlap.ts'
import { type Exchange, heldOutThemes, type Theme, themes } from '../src/demo/themes.ts'
import { asked, marks, tokensOf } from '../src/demo/tokens.ts'
import { greedyAnswer, type Next, openGreedy } from './demo-target/greedy.ts'

const { values } = parseArgs({
  options: {
    target: { type: 'string', default: demoAssets },
    out: { type: 'string', default: demoAssets },
    threads: { type: 'string', default: '2' },
  },
})
const [rowsSeed, heldOutSeed] = [3, 4]
const heldOutRows = 48
const next = await openGreedy(values.target, Number(values.threads))

const texts = {
  rows: await answered(next, { count: demoRows, seed: rowsSeed, themes, single: false }),
  heldOut: await answered(next, {
    count: heldOutRows,
    seed: heldOutSeed,
    themes: heldOutThemes,
    single: true,
  }),
}
for (const [name, rows] of Object.entries(texts)) {
  const path = join(values.out, demoTexts[name as keyof typeof demoTexts])
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

const tokens = { rows: texts.rows.map(tokensOf), heldOut: texts.heldOut.map(tokensOf) }
const learnt = Math.round(0.9 * demoRows)
for (const n of [4, 8]) {
  const training = tokens.rows.slice(0, learnt)
  const same = overlap(training, tokens.rows.slice(learnt), n)
  const other = overlap(training, tokens.heldOut, n)
  process.stdout.write(`n=${n} overlap=${same.toFixed(3)} heldOutThemes=${other.toFixed(3)}\n`)
}

interface Wanted {
  readonly count: number
  readonly seed: number
  readonly themes: Readonly<Record<string, Theme>>
  /** One exchange a conversation. */
  readonly single: boolean
}

/** How many answers of each theme are there, and how many of them are right. */
type Tally = Map<string, { answers: number; right: number }>

async function answered(
  next: Next,
  { count, seed, themes, single }: Wanted,
): Promise<(readonly Exchange[])[]> {
  const themeOf = new Map<string, string>()
  const named = Object.entries(themes).map(
    ([name, draw]): Theme =>
      (random) => {
        const exchange = draw(random)
        themeOf.set(exchange.question, name)
        return exchange
      },
  )
  const drawn = conversations(seededRandom(seed), named)
  const rows = new Map<string, readonly Exchange[]>()
  const tally: Tally = new Map()
  while (rows.size < count) {
    const wanted = drawn.next().value.slice(0, single ? 1 : undefined)
    const row = await answeredRow(next, wanted)
    if (!row || rows.has(JSON.stringify(row))) continue
    rows.set(JSON.stringify(row), row)
    for (const [i, { question, answer }] of wanted.entries()) {
      const theme = themeOf.get(question) ?? ''
      const counts = tally.get(theme) ?? { answers: 0, right: 0 }
      counts.answers++
      if (row[i]?.answer === answer) counts.right++
      tally.set(theme, counts)
    }
  }
  for (const [theme, { answers, right }] of tally) {
    process.stdout.write(`theme=${theme} right=${right}/${answers}\n`)
  }
  return [...rows.values()]
}

/** @returns  undefined where an answer finds no end, or is no text */
async function answeredRow(
  next: Next,
  wanted: readonly Exchange[],
): Promise<readonly Exchange[] | undefined> {
  const row: Exchange[] = []
  for (const { question, answer } of wanted) {
    const before = [...tokensOf(row).ids, ...asked(question)]
    const found = await greedyAnswer(next, before, [...Buffer.from(answer), marks.end])
    const bytes = Buffer.from(found?.slice(0, -1) ?? [])
    const own = bytes.toString()
    if (!found || found.slice(0, -1).some((id) => id > 255)) return undefined
    if (!Buffer.from(own).equals(bytes)) return undefined
    row.push({ question, answer: own })
  }
  return row
}
