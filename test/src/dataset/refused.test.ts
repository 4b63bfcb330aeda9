/** What is no dataset that can be read is refused by name: never a crash, never zero rows. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openDataset } from '../../../src/dataset/shards.ts'
import { explain, type FailureKind, isFailure } from '../../../src/failure.ts'
import { golden } from '../../support/golden.ts'
import { needsShared } from '../../support/needs.ts'

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }

let work = ''
before(() => {
  work = mkdtempSync(join(tmpdir(), 'draftsmith-refused-'))
})
after(() => rmSync(work, { recursive: true }))

interface Refusal {
  readonly kind: FailureKind
  /** Each must match the message with its causes. */
  readonly says: readonly RegExp[]
  readonly split?: string
  readonly columns?: typeof columns
}

function assertRefused(path: string, refusal: Refusal): void {
  const { kind, says } = refusal
  const open = () => openDataset(path, { columns, ...refusal })
  assert.throws(open, (error: unknown) => {
    const text = explain(error)
    assert.ok(isFailure(error), `${path}: ${text}`)
    assert.equal(error.kind, kind, text)
    assert.ok(error.remedy, text)
    for (const pattern of says) assert.match(text, pattern)
    return true
  })
}

const files: Readonly<Record<string, Refusal>> = {
  'ipc_stream_zstd.arrow': { kind: 'invalid', says: [/ipc_stream_zstd\.arrow/, /codec=ZSTD/] },
  'ipc_stream_lz4.arrow': { kind: 'invalid', says: [/compressed/, /codec=LZ4_FRAME/] },
  'no_input_ids_column.arrow': { kind: 'invalid', says: [/want=input_ids, found=text x/] },
  'input_ids_is_string.arrow': {
    kind: 'invalid',
    says: [/column=input_ids/, /want=list of integers, found=Utf8/],
  },
  'broken/empty_0_bytes.arrow': { kind: 'corrupt', says: [/the file is empty/] },
  'broken/garbage.arrow': { kind: 'corrupt', says: [/garbage\.arrow, offset=0/] },
  'broken/text.arrow': { kind: 'corrupt', says: [/offset=0, want=1936287860, found=516/] },
  'broken/flatbuffer_zeroed.arrow': { kind: 'corrupt', says: [/metadata/, /offset=336/] },
  'broken/parquet_named_arrow.arrow': { kind: 'invalid', says: [/is Parquet/] },
  'made/unread_type.arrow': { kind: 'invalid', says: [/schema/, /RunEndEncoded/] },
}

/** In the full reference only: too big to carry along for one refusal each. */
const referenceFiles: Readonly<Record<string, Refusal>> = {
  'indices_cache.arrow': { kind: 'invalid', says: [/indices mapping/] },
  'ipc_file.arrow': { kind: 'invalid', says: [/Arrow IPC file format; this version reads/] },
  'ipc_file_zstd.arrow': { kind: 'invalid', says: [/Arrow IPC file format/] },
  'ipc_file_lz4.arrow': { kind: 'invalid', says: [/Arrow IPC file format/] },
  'main_first200.parquet': { kind: 'invalid', says: [/is Parquet/] },
  'main_first200_zstd.parquet': { kind: 'invalid', says: [/is Parquet/] },
  'chat_messages.jsonl': { kind: 'invalid', says: [/is JSON/] },
  'broken/truncated_in_schema.arrow': { kind: 'corrupt', says: [/offset=0, want=328, found=52/] },
  'broken/truncated_in_batch.arrow': { kind: 'corrupt', says: [/want=7312, found=4626/] },
  'broken/truncated_last_byte.arrow': { kind: 'corrupt', says: [/want=6320, found=6319/] },
  'broken/truncated_file_format.arrow': { kind: 'invalid', says: [/Arrow IPC file format/] },
  'broken/file_format_no_trailing_magic.arrow': { kind: 'invalid', says: [/IPC file format/] },
  'broken/footer_length_corrupt.arrow': { kind: 'invalid', says: [/Arrow IPC file format/] },
  'broken/message_length_huge.arrow': { kind: 'corrupt', says: [/offset=336, want=2147483632/] },
  'broken/zstd_corrupt.arrow': { kind: 'invalid', says: [/codec=ZSTD/] },
}

const directories: Readonly<Record<string, Refusal>> = {
  'broken/dir_missing_shard': { kind: 'invalid', says: [/want=data-00001-of-00002\.arrow/] },
  'broken/dir_no_state': { kind: 'invalid', says: [/path=.*, want=state\.json/] },
  'broken/dir_no_info': { kind: 'invalid', says: [/want=dataset_info\.json/] },
  'broken/dir_bad_state_json': { kind: 'invalid', says: [/file=.*state\.json/, /JSON/] },
  'broken/dir_shards_with_other_types': {
    kind: 'invalid',
    says: [/column=input_ids, file=.*data-00001/, /want=List<Int32>.*found=List<Int64>/],
  },
  'broken/dir_path_escape': { kind: 'invalid', says: [/outside its directory/, /found=\.\./] },
  dataset_dict: { kind: 'invalid', says: [/found=train validation test/] },
}

test('dataset: files of other formats, damaged or without the columns are refused by name', () => {
  for (const [name, refusal] of Object.entries(files)) assertRefused(golden('arrow', name), refusal)
})

test('dataset: broken directories are refused by name', () => {
  for (const [name, refusal] of Object.entries(directories)) {
    assertRefused(wholeDirectory(name), refusal)
  }
})

test('dataset: all broken reference files are refused by name', (t) => {
  const shared = needsShared(t, 'reference/arrow')
  if (shared === undefined) return
  const all = { ...files, ...referenceFiles, ...directories }
  for (const [name, refusal] of Object.entries(all)) {
    if (!name.startsWith('made/')) assertRefused(join(shared, name), refusal)
  }
})

test('dataset: a stray Arrow file beside the shards is not read', () => {
  const path = wholeDirectory('broken/dir_extra_arrow_file')
  cpSync(golden('arrow', 'ipc_stream.arrow'), join(path, 'cache-0123456789abcdef.arrow'))
  const dataset = openDataset(path, { columns })
  assert.equal(dataset.rows, 80)
  assert.deepEqual(
    dataset.files().map(({ relative }) => relative),
    ['state.json', 'dataset_info.json', 'data-00000-of-00001.arrow'],
  )
})

test('dataset: an unknown split or column is refused with the nearest name', () => {
  const dict = golden('arrow', 'dataset_dict')
  const typo = { ...columns, lossMask: 'los_mask' }
  for (const [path, refusal] of [
    [dict, { kind: 'invalid', split: 'tran', says: [/want=tran, found=train validation test/] }],
    [golden('arrow', 'shuffled'), { kind: 'invalid', columns: typo, says: [/want=los_mask/] }],
    [join(work, 'nothing here'), { kind: 'invalid', says: [/no dataset here/] }],
  ] as const) {
    assertRefused(path, refusal)
  }
  assert.throws(() => openDataset(dict, { columns, split: 'tran' }), { remedy: /Nearest: train/ })
  assert.throws(() => openDataset(golden('arrow', 'shuffled'), { columns: typo }), {
    remedy: /Nearest: loss_mask/,
  })
})

test('dataset: a mask that is configured must be there; lengths may be absent', () => {
  const path = golden('arrow', 'uint16_ids.arrow')
  assertRefused(path, { kind: 'invalid', says: [/want=loss_mask, found=input_ids input_ids_u32/] })
  const dataset = openDataset(path, { columns: { ...columns, lossMask: null } })
  assert.deepEqual(dataset.read(1), { ids: Int32Array.of(4464), mask: null })
})

test('dataset: names that lead outside are refused, however they do it', () => {
  const path = wholeDirectory('select_contiguous')
  for (const filename of ['../x.arrow', '/etc/passwd', 'a/../../x.arrow', '..', '.']) {
    writeFileSync(join(path, 'state.json'), JSON.stringify({ _data_files: [{ filename }] }))
    assertRefused(path, { kind: 'invalid', says: [/outside its directory/, /state\.json/] })
  }
})

/** A copy of the directory with the shard in place that it shares with select_contiguous. */
function wholeDirectory(name: string): string {
  const copy = mkdtempSync(join(work, 'dir-'))
  cpSync(golden('arrow', name), copy, { recursive: true })
  const shard = golden('arrow', 'select_contiguous', 'data-00000-of-00001.arrow')
  const state = join(copy, 'state.json')
  const two = existsSync(state) && readFileSync(state, 'utf8').includes('of-00002')
  const names = ['data-00000-of-00001.arrow']
  if (two) names.push('data-00000-of-00002.arrow')
  for (const shardName of names) cpSync(shard, join(copy, shardName))
  return copy
}
