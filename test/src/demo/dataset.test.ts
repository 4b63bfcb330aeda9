import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tableFromIPC, type Vector } from 'apache-arrow'
import { openDataset } from '../../../src/dataset/shards.ts'
import { usable } from '../../../src/dataset/usable.ts'
import { demoRows, demoVocab, writeDemoDataset } from '../../../src/demo/dataset.ts'

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

test('demo dataset: ids and mask are the same everywhere and always', async (t) => {
  const dir = await writeHere(t)
  const digest = (values: Int32Array | Uint8Array) =>
    createHash('sha256').update(values).digest('hex')
  // Little-endian, as every machine that Node runs on.
  const ids = digest(Int32Array.from(lists(dir, 'input_ids').flat()))
  const mask = digest(Uint8Array.from(lists(dir, 'loss_mask').flat()))
  assert.equal(ids, '73b33b3859efaba3956e9b6d6ca41b867e8950e6ebae76695d90a8e8b55531c5')
  assert.equal(mask, 'eed6e0655f5b1a5d30799fe864338143943df6fa913984805944f57f941e0b2a')
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
    assert.ok(length >= 30 && length <= 450, `row=${row}, length=${length}`)
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
  const sums = texts.flatMap((text) => [...text.matchAll(/(\d+) \+ (\d+) = (\d+)\./g)])
  assert.ok(sums.length > 20, `sums=${sums.length}`)
  for (const [, a, b, sum] of sums) assert.equal(Number(a) + Number(b), Number(sum))
  assert.ok(texts.every((text) => !text.includes('?')))
})

test('demo dataset: this project reads it by its default columns, each row usable', async (t) => {
  const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
  const dir = await writeHere(t)
  const dataset = openDataset(dir, { columns })
  const [ids, masks] = [lists(dir, 'input_ids'), lists(dir, 'loss_mask')]
  assert.equal(dataset.rows, demoRows)
  for (let row = 0; row < demoRows; row++) {
    const sample = usable(dataset.read(row), { vocab: demoVocab, maxTokens: 450 })
    assert.ok('ids' in sample, `row=${row}`)
    assert.deepEqual(Array.from(sample.ids), ids[row])
    assert.deepEqual(Array.from(sample.mask ?? []), masks[row])
  }
})
