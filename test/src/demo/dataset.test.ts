import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tableFromIPC, type Vector } from 'apache-arrow'
import { openDataset } from '../../../src/dataset/shards.ts'
import { usable } from '../../../src/dataset/usable.ts'
import { rowOf } from '../../../src/decode/text.ts'
import { best } from '../../../src/decode/verify.ts'
import { demoAssets } from '../../../src/demo/assets.ts'
import {
  demoConversations,
  demoRows,
  writeDemoDataset,
  writeDemoPrompts,
} from '../../../src/demo/dataset.ts'
import type { Exchange } from '../../../src/demo/themes.ts'
import { demoVocab, tokensOf } from '../../../src/demo/tokens.ts'
import { decodingTarget } from '../../support/decoding.ts'

async function writeHere(t: TestContext): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-demo-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  await writeDemoDataset(dir)
  return dir
}

const shards = (dir: string): string[] => readdirSync(dir).filter((name) => /arrow$/.test(name))

/** A list column's cells, over both shards. */
const lists = (dir: string, column: string): number[][] =>
  shards(dir).flatMap((name) => {
    const cells: Vector | null = tableFromIPC(readFileSync(join(dir, name))).getChild(column)
    return Array.from(cells ?? [], (cell: Iterable<number>) => Array.from(cell))
  })

test('demo dataset: written twice, the files are the same', async (t) => {
  const [one, other] = [await writeHere(t), await writeHere(t)]
  const bytes = (dir: string) =>
    readdirSync(dir).map((name) => readFileSync(join(dir, name), 'hex'))
  assert.deepEqual(bytes(one), bytes(other))
})

test('demo dataset: 400 different rows of usable length, each with words to learn', async (t) => {
  const dir = await writeHere(t)
  const [ids, masks] = [lists(dir, 'input_ids'), lists(dir, 'loss_mask')]
  assert.equal(ids.length, demoRows)
  assert.equal(shards(dir).length, 2)
  assert.equal(new Set(ids.map(String)).size, demoRows)
  assert.ok(ids.flat().every((id) => id >= 0 && id < demoVocab))
  for (const [row, mask] of masks.entries()) {
    const length = ids[row]?.length ?? 0
    assert.ok(length >= 30 && length <= 256, `row=${row}, length=${length}`)
    assert.equal(mask.length, length)
    assert.ok(mask.includes(1) && mask.includes(0), `row=${row}`)
  }
})

test('demo dataset: what is supervised is the answers', async (t) => {
  const dir = await writeHere(t)
  const [ids, masks] = [lists(dir, 'input_ids'), lists(dir, 'loss_mask')]
  const texts = ids.map((row, i) =>
    Buffer.from(row.filter((id, j) => masks[i]?.[j] === 1 && id < 256)).toString(),
  )
  const answers = demoConversations('rows').map((row) => row.map(({ answer }) => answer).join(''))
  assert.deepEqual(texts, answers)
})

test('demo prompts: themes that no row has, up to where the answer begins', async (t) => {
  const dir = await writeHere(t)
  const path = join(dir, 'prompts.jsonl')
  writeDemoPrompts(path)
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  const prompts: number[][] = lines.map((line) => JSON.parse(line).input_ids)
  const heldOut = demoConversations('heldOut')
  assert.equal(prompts.length, heldOut.length)
  for (const [i, prompt] of prompts.entries()) {
    const { ids, mask } = tokensOf(heldOut[i] ?? [])
    assert.deepEqual(prompt, ids.slice(0, mask.indexOf(1)))
  }
  const seen = new Set(demoConversations('rows').flatMap((row) => row.map(patternOf)))
  assert.ok(heldOut.flat().every((exchange) => !seen.has(patternOf(exchange))))
})

/** What a theme's questions have in common. */
const patternOf = ({ question }: Exchange): string => question.replaceAll(/"[^"]*"|\d+/g, '_')

test('demo dataset: each answer is what the demo target says itself, greedily', async (t) => {
  const target = await decodingTarget(t, demoAssets, [])
  const rows = [...demoConversations('rows').slice(0, 20), ...demoConversations('heldOut')]
  for (const row of rows) {
    const { ids, mask } = tokensOf(row)
    const { logits } = await target.text(ids.length).read(ids, 'all')
    ids.forEach((id, i) => {
      if (mask[i] === 1) assert.equal(best(rowOf(logits, i - 1)).id, id, JSON.stringify(row))
    })
  }
})

test('demo dataset: this project reads it by its default columns, each row usable', async (t) => {
  const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
  const dir = await writeHere(t)
  const dataset = openDataset(dir, { columns })
  const [ids, masks] = [lists(dir, 'input_ids'), lists(dir, 'loss_mask')]
  assert.equal(dataset.rows, demoRows)
  for (let row = 0; row < demoRows; row++) {
    const sample = usable(dataset.read(row), { vocab: demoVocab, maxTokens: 256 })
    assert.ok('ids' in sample, `row=${row}`)
    assert.deepEqual(Array.from(sample.ids), ids[row])
    assert.deepEqual(Array.from(sample.mask ?? []), masks[row])
  }
})
