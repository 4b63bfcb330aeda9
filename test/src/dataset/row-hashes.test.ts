import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { RowHashes } from '../../../src/dataset/row-hashes.ts'

const fingerprint = new Uint8Array(32).fill(7)
const hashOf = (row: number): Buffer => contentHash(Int32Array.of(row))

let work = ''
let path = ''
before(() => {
  work = mkdtempSync(join(tmpdir(), 'draftsmith-hashes-'))
  path = join(work, 'row-hashes')
})
after(() => rmSync(work, { recursive: true }))

function someTable(rows: number): RowHashes {
  const table = new RowHashes(rows, fingerprint)
  for (let row = 0; row < rows; row += 3) table.set(row, hashOf(row))
  return table
}

test('row hashes: what was set comes back from the file, what was not stays unknown', () => {
  for (const rows of [0, 1, 8, 1003]) {
    const table = someTable(rows)
    assert.equal(table.known, Math.ceil(rows / 3))
    table.save(path)
    const again = RowHashes.decode(readFileSync(path), rows, fingerprint)
    assert.equal(again.known, table.known)
    for (let row = 0; row < rows; row++) {
      const want = row % 3 === 0 ? new Uint8Array(hashOf(row)) : undefined
      assert.deepEqual(again.get(row), want)
    }
  }
  assert.deepEqual(readdirSync(work), ['row-hashes'], 'no temporary file stays')
})

test('row hashes: a row that is set twice is known once', () => {
  const table = new RowHashes(2, fingerprint)
  table.set(1, hashOf(1))
  table.set(1, hashOf(2))
  assert.equal(table.known, 1)
  assert.deepEqual(table.get(1), new Uint8Array(hashOf(2)))
})

test('row hashes: a file of another dataset is refused', () => {
  someTable(10).save(path)
  const bytes = readFileSync(path)
  assert.throws(() => RowHashes.decode(bytes, 11, fingerprint), {
    kind: 'corrupt',
    message: /want=11 rows, found=10/,
  })
  assert.throws(() => RowHashes.decode(bytes, 10, new Uint8Array(32)), {
    kind: 'corrupt',
    message: /of another dataset/,
  })
})

test('row hashes: any damaged byte and any cut is refused', () => {
  someTable(10).save(path)
  const whole = readFileSync(path)
  for (let at = 0; at < whole.length; at++) {
    const damaged = Buffer.from(whole)
    damaged[at] = damaged[at] ^ 1
    assert.throws(() => RowHashes.decode(damaged, 10, fingerprint), { kind: 'corrupt' })
    const cut = whole.subarray(0, at)
    assert.throws(() => RowHashes.decode(cut, 10, fingerprint), { kind: 'corrupt' })
  }
})

test('row hashes: a number of rows that the file does not bear out takes no memory', () => {
  someTable(10).save(path)
  const file = readFileSync(path)
  file.writeUInt32LE(2 ** 32 - 1, 8)
  assert.throws(() => RowHashes.decodeAny(file), {
    kind: 'corrupt',
    message: /cut or grown.*found=/,
  })
  assert.throws(() => RowHashes.decodeAny(Buffer.alloc(3)), {
    kind: 'corrupt',
    message: /not such/,
  })
})
