import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Table, tableFromIPC } from 'apache-arrow'
import { randomRows } from '../../../src/dataset/random-rows.ts'
import { type DatasetRow, writeDataset } from '../../../src/dataset/write.ts'
import { isFailure } from '../../../src/failure.ts'

function emptyDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-write-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Rows of lengths 0, 1, 2, …: every id names its row and place. */
function* countedRows(rows: number): Generator<DatasetRow> {
  for (let row = 0; row < rows; row++) {
    const inputIds = Int32Array.from({ length: row }, (_, i) => row * 1_000 + i)
    yield { inputIds, lossMask: Uint8Array.from(inputIds, (_, i) => i % 2) }
  }
}

function readShards(dir: string): { names: string[]; tables: Table[] } {
  const names = readState(dir)._data_files.map((file) => file.filename)
  return { names, tables: names.map((name) => tableFromIPC(readFileSync(join(dir, name)))) }
}

const readJson = (dir: string, name: string): unknown =>
  JSON.parse(readFileSync(join(dir, name), 'utf8'))

interface State {
  readonly _data_files: readonly { readonly filename: string }[]
  readonly _fingerprint: string
}

const readState = (dir: string): State => JSON.parse(readFileSync(join(dir, 'state.json'), 'utf8'))

/** The cells of a column over all shards, lists as plain arrays. */
const column = (tables: Table[], name: string): unknown[] =>
  tables.flatMap((table) =>
    [...(table.getChild(name) ?? [])].map((cell) =>
      typeof cell === 'number' ? cell : Array.from(cell),
    ),
  )

test('write: what was written reads back row for row, across batches and shards', async (t) => {
  const dir = emptyDir(t)
  const written = await writeDataset(dir, {
    rows: countedRows(45),
    count: 45,
    shards: 3,
    rowsPerBatch: 10,
  })

  const { names, tables } = readShards(dir)
  const rows = [...countedRows(45)]
  assert.deepEqual(
    names,
    [0, 1, 2].map((i) => `data-0000${i}-of-00003.arrow`),
  )
  assert.deepEqual(
    tables.map((table) => table.batches.map((batch) => batch.numRows)),
    [[10], [10, 10], [10, 5]],
  )
  assert.deepEqual(
    column(tables, 'input_ids'),
    rows.map((row) => Array.from(row.inputIds)),
  )
  assert.deepEqual(
    column(tables, 'loss_mask'),
    rows.map((row) => Array.from(row.lossMask)),
  )
  assert.deepEqual(
    column(tables, 'seq_len'),
    rows.map((row) => row.inputIds.length),
  )
  assert.deepEqual(written, { rows: 45, tokens: (44 * 45) / 2, bytes: written.bytes })
  const sizes = names.map((name) => readFileSync(join(dir, name)).length)
  assert.equal(
    written.bytes,
    sizes.reduce((a, b) => a + b),
  )
})

test('write: the schema and the two JSON files are those of save_to_disk', async (t) => {
  const dir = emptyDir(t)
  await writeDataset(dir, { rows: countedRows(3), count: 3, shards: 1, description: 'three' })

  const value = (dtype: string) => ({ dtype, _type: 'Value' })
  const features = {
    input_ids: { feature: value('int32'), _type: 'List' },
    loss_mask: { feature: value('int8'), _type: 'List' },
    seq_len: value('int32'),
  }
  const schema = readShards(dir).tables[0]?.schema
  assert.deepEqual(
    schema?.fields.map((field) => [field.name, String(field.type), field.nullable]),
    [
      ['input_ids', 'List<Int32>', true],
      ['loss_mask', 'List<Int8>', true],
      ['seq_len', 'Int32', true],
    ],
  )
  assert.deepEqual(JSON.parse(schema?.metadata.get('huggingface') ?? ''), { info: { features } })
  assert.deepEqual(readJson(dir, 'dataset_info.json'), {
    citation: '',
    description: 'three',
    features,
    homepage: '',
    license: '',
  })
  const { _fingerprint, ...state } = readState(dir)
  assert.match(_fingerprint, /^[0-9a-f]{16}$/)
  assert.deepEqual(state, {
    _data_files: [{ filename: 'data-00000-of-00001.arrow' }],
    _format_columns: null,
    _format_kwargs: {},
    _format_type: null,
    _output_all_columns: false,
    _split: null,
  })
})

test('write: no more shards than batches; no rows still make one with a schema', async (t) => {
  const few = emptyDir(t)
  await writeDataset(few, { rows: countedRows(12), count: 12, shards: 8, rowsPerBatch: 10 })
  assert.deepEqual(
    readShards(few).tables.map((table) => table.numRows),
    [10, 2],
  )
  const none = emptyDir(t)
  await writeDataset(none, { rows: [], count: 0, shards: 2 })
  const [table] = readShards(none).tables
  assert.deepEqual([table?.numRows, table?.schema.fields.length], [0, 3])
})

test('write: the same rows give the same bytes, other rows another fingerprint', async (t) => {
  const write = async (seed: number) => {
    const dir = emptyDir(t)
    const options = { rows: 500, seed, vocab: 300, meanTokens: 40, sigma: 0.9 }
    const rows = randomRows({ ...options, tokensMin: 8, tokensMax: 200 })
    await writeDataset(dir, { rows, count: 500, shards: 2, rowsPerBatch: 100 })
    return readdirSync(dir).map((name) => readFileSync(join(dir, name), 'latin1'))
  }
  assert.deepEqual(await write(1), await write(1))
  assert.notDeepEqual((await write(1)).at(-1), (await write(2)).at(-1))
})

test('write: a row larger than the buffers makes them grow, and loses nothing', async (t) => {
  const dir = emptyDir(t)
  const rows = [3, 300_000, 5].map((length, row) => ({
    inputIds: Int32Array.from({ length }, (_, i) => i + row),
    lossMask: new Uint8Array(length).fill(1),
  }))
  await writeDataset(dir, { rows, count: 3, shards: 1 })
  const { tables } = readShards(dir)
  assert.deepEqual(
    column(tables, 'input_ids'),
    rows.map((row) => Array.from(row.inputIds)),
  )
})

test('write: rows that are not as announced are refused, and leave no dataset', async (t) => {
  const dir = emptyDir(t)
  writeFileSync(join(dir, 'state.json'), '{}')
  const invalid = (message: RegExp) => (error: unknown) =>
    isFailure(error, 'invalid') && message.test(error.message)
  await assert.rejects(
    writeDataset(dir, { rows: countedRows(4), count: 5, shards: 1 }),
    invalid(/fewer rows than were announced\. found=4/),
  )
  await assert.rejects(
    writeDataset(dir, { rows: countedRows(6), count: 5, shards: 1 }),
    invalid(/more rows than were announced\. want=5/),
  )
  const uneven = { inputIds: Int32Array.of(1, 2), lossMask: Uint8Array.of(1) }
  await assert.rejects(
    writeDataset(dir, { rows: [...countedRows(1), uneven], count: 2, shards: 1 }),
    invalid(/mask is not as long as its ids\. row=1, ids=2, mask=1/),
  )
  assert.equal(existsSync(join(dir, 'state.json')), false)
})

test('random rows: lengths keep to their bounds and near their mean, ids to the vocabulary', () => {
  const tokens: number[] = []
  let supervised = 0
  for (const { inputIds, lossMask } of randomRows({
    rows: 4_000,
    seed: 3,
    vocab: 100,
    meanTokens: 50,
    sigma: 0.5,
    tokensMin: 8,
    tokensMax: 1_000,
  })) {
    tokens.push(inputIds.length)
    assert.ok(inputIds.every((id) => id >= 0 && id < 100))
    assert.ok(
      lossMask.every((bit, i) => bit >= (lossMask[i - 1] ?? 0)),
      'prompt, then answer',
    )
    supervised += lossMask.reduce((sum, bit) => sum + bit, 0)
  }
  const total = tokens.reduce((sum, length) => sum + length, 0)
  assert.ok(tokens.every((length) => length >= 8 && length <= 1_000))
  assert.ok(Math.abs(total / tokens.length - 50) < 2, `mean=${total / tokens.length}`)
  assert.ok(supervised / total > 0.6 && supervised / total < 0.75, `share=${supervised / total}`)
})
