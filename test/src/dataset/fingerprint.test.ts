import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { contentHash, datasetFingerprint } from '../../../src/dataset/fingerprint.ts'
import { openDataset } from '../../../src/dataset/shards.ts'
import { golden } from '../../support/golden.ts'

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }

let work = ''
before(() => {
  work = mkdtempSync(join(tmpdir(), 'draftsmith-fingerprint-'))
})
after(() => rmSync(work, { recursive: true }))

function fingerprintOf(path: string, split: string | null = null): string {
  const dataset = openDataset(path, { columns, split })
  return datasetFingerprint(dataset, dataset.lengths(), columns.inputIds).toString('hex')
}

function copyOf(name: string): string {
  const copy = mkdtempSync(join(work, 'copy-'))
  cpSync(golden('arrow', name), copy, { recursive: true })
  return copy
}

test('content hash: 16 bytes of SHA-256 over int32, whatever buffer the ids lie in', () => {
  // printf '\x01\x00\x00\x00\x00\x01\x00\x00' | sha256sum
  const want = '242045e2f1bb37769b514f182fd91b3d'
  assert.equal(contentHash(Int32Array.of(1, 256)).toString('hex'), want)
  assert.equal(contentHash(Int32Array.of(9, 1, 256, 9).subarray(1, 3)).toString('hex'), want)
})

test('fingerprint: a copy is the same dataset; a changed token makes another', () => {
  const first = fingerprintOf(golden('arrow', 'shuffled'))
  const copy = copyOf('shuffled')
  assert.equal(fingerprintOf(copy), first)

  const shard = join(copy, 'data-00000-of-00001.arrow')
  const bytes = readFileSync(shard)
  const token = bytes.length - 4000
  bytes.writeUInt8(bytes.readUInt8(token) ^ 1, token)
  writeFileSync(shard, bytes)
  assert.notEqual(fingerprintOf(copy), first)
})

test('files: a dataset’s files copied elsewhere open there, with the same rows', () => {
  for (const [name, split] of [
    ['dataset_dict', 'validation'],
    ['shuffled', null],
    ['ipc_stream.arrow', null],
  ] as const) {
    const dataset = openDataset(golden('arrow', name), { columns, split })
    const elsewhere = mkdtempSync(join(work, 'elsewhere-'))
    for (const { path, relative, bytes } of dataset.files()) {
      assert.equal(readFileSync(path).length, bytes)
      cpSync(path, join(elsewhere, relative))
    }
    const again = openDataset(join(elsewhere, dataset.entry), { columns, split })
    assert.equal(again.rows, dataset.rows)
    assert.deepEqual(again.read(5), dataset.read(5))
  }
})
