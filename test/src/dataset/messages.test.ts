/** A stream that is cut or damaged: refused, or read; never a crash, never rows lost unseen. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { withFile } from '../../../src/dataset/arrow-file.ts'
import { readStream } from '../../../src/dataset/messages.ts'
import { openDataset } from '../../../src/dataset/shards.ts'
import { isFailure } from '../../../src/failure.ts'
import { golden } from '../../support/golden.ts'

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
const stream = readFileSync(golden('arrow', 'ipc_stream.arrow'))

let work = ''
let path = ''
before(() => {
  work = mkdtempSync(join(tmpdir(), 'draftsmith-messages-'))
  path = join(work, 'stream.arrow')
})
after(() => rmSync(work, { recursive: true }))

/** Rows of the stream, all of them read; or its refusal. */
function rowsOf(bytes: Uint8Array): number | 'refused' {
  writeFileSync(path, bytes)
  try {
    const dataset = openDataset(path, { columns })
    dataset.lengths()
    for (let row = 0; row < dataset.rows; row++) dataset.read(row)
    return dataset.rows
  } catch (error) {
    if (isFailure(error)) return 'refused'
    throw error
  }
}

test('messages: batches are found with marker and without, with end and without', () => {
  const layouts = ['ipc_stream.arrow', 'ipc_stream_legacy_v4.arrow'].map((name) =>
    withFile(golden('arrow', name), readStream),
  )
  for (const { batches } of layouts) {
    assert.deepEqual(
      batches.map(({ rows }) => rows),
      [40, 1, 0, 59, 50],
    )
  }
  assert.equal(rowsOf(stream.subarray(0, stream.length - 8)), 150)
})

test('messages: a stream cut anywhere but between two messages is refused', () => {
  const { batches } = withFile(golden('arrow', 'ipc_stream.arrow'), readStream)
  const ends = new Map<number, number>()
  let rows = 0
  for (const batch of batches) {
    ends.set(batch.at, rows)
    rows += batch.rows
    ends.set(batch.bodyAt + batch.bodyBytes, rows)
  }
  for (let length = 0; length < stream.length; length += 7) {
    const want = ends.get(length) ?? 'refused'
    assert.equal(rowsOf(stream.subarray(0, length)), want, `cut at ${length}`)
  }
  for (const [length, whole] of ends) assert.equal(rowsOf(stream.subarray(0, length)), whole)
})

test('messages: streams laid end to end are refused, not read in part', () => {
  assert.equal(rowsOf(Buffer.concat([stream, stream])), 'refused')
})

test('messages: no damaged byte makes anything but a refusal or a readable stream', () => {
  const seed = 20
  const random = seededRandom(seed)
  const below = (end: number): number => Math.floor(random() * end)
  const words = [0, -1, 1, 8, -8, 2 ** 20, 2 ** 31 - 1]
  for (const name of ['ipc_stream.arrow', join('made', 'layouts.arrow')]) {
    const whole = readFileSync(golden('arrow', name))
    let refused = 0
    for (let i = 0; i < 1000; i++) {
      const damaged = Buffer.from(whole)
      // The schema and the first batch's metadata, mostly: there damage hurts.
      const at = below(i % 4 === 0 ? whole.length - 4 : 1500)
      if (i % 2 === 0) damaged[at] = below(256)
      else damaged.writeInt32LE(words[below(words.length)], at - (at % 4))
      const where = `seed=${seed}, file=${name}, change=${i}, at=${at}`
      assert.doesNotThrow(() => {
        if (rowsOf(damaged) === 'refused') refused++
      }, where)
    }
    assert.ok(refused > 100, `file=${name}, refused=${refused}`)
  }
})

test('messages: metadata that counts more than it holds is refused before it is decoded', () => {
  // The count of the first batch's buffers, made 2^31 - 1: decoding it would never end.
  const { batches } = withFile(golden('arrow', 'ipc_stream.arrow'), readStream)
  const batch = batches[0]
  assert.ok(batch)
  const count = batch.buffers.length
  const metadata = stream.subarray(batch.at + 8, batch.bodyAt)
  let changed = 0
  for (let at = 0; at + 4 <= metadata.length; at += 4) {
    if (metadata.readInt32LE(at) !== count) continue
    const damaged = Buffer.from(stream)
    damaged.writeInt32LE(2 ** 31 - 1, batch.at + 8 + at)
    assert.equal(rowsOf(damaged), 'refused', `offset ${batch.at + 8 + at}`)
    changed++
  }
  assert.ok(changed > 0)
})
