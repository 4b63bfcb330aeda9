/**
 * The demo's tokenized dataset, made on the spot of the text beside the program: questions that
 * were drawn, and what the demo's target answers to each, greedily.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DatasetRow, type WrittenDataset, writeDataset } from '../dataset/write.ts'
import { demoAssets } from './assets.ts'
import type { Exchange } from './themes.ts'
import { asked, marks, tokensOf } from './tokens.ts'

export const demoRows = 400

/** Of the themes that a drafter is trained on, and of those that it never sees. */
export const demoTexts = { rows: 'conversations.jsonl', heldOut: 'held-out.jsonl' } as const

/** Writes the same bytes every time: 400 rows of 30 to 256 tokens in two shards. */
export const writeDemoDataset = (dir: string): Promise<WrittenDataset> =>
  writeDataset(dir, {
    rows: demoConversations('rows').map(rowOf),
    count: demoRows,
    shards: 2,
    rowsPerBatch: 100,
    description: "Draftsmith's demo: small questions and answers, one token a byte",
  })

/** Writes prompts of the themes that are held out, a JSON object `{ input_ids }` a line. */
export function writeDemoPrompts(path: string): void {
  const lines = demoConversations('heldOut').map(([first]) =>
    JSON.stringify({ input_ids: first ? [marks.start, ...asked(first.question)] : [] }),
  )
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
}

/** Each answer is the target's own. */
export const demoConversations = (text: keyof typeof demoTexts): (readonly Exchange[])[] =>
  readFileSync(join(demoAssets, demoTexts[text]), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

function rowOf(exchanges: readonly Exchange[]): DatasetRow {
  const { ids, mask } = tokensOf(exchanges)
  return { inputIds: Int32Array.from(ids), lossMask: Uint8Array.from(mask) }
}
