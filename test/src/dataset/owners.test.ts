import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { Owners } from '../../../src/dataset/owners.ts'

const hashes = (count: number, seed: number): Uint8Array[] => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () =>
    Uint8Array.from({ length: 16 }, () => Math.floor(random() * 256)),
  )
}

test('owners: the first row that claims a hash keeps it, through every growth', () => {
  const owners = new Owners(4)
  const all = hashes(5000, 3)
  for (const [row, hash] of all.entries()) assert.equal(owners.claim(hash, row), row)
  for (const [row, hash] of all.entries()) assert.equal(owners.claim(hash, row + 9000), row)
  assert.equal(owners.size, 5000)
})

test('owners: hashes that share their first words, where all begin to look, are told apart', () => {
  const owners = new Owners()
  const near = hashes(1, 5).flatMap((hash) =>
    Array.from({ length: 300 }, (_, i) => {
      const other = Uint8Array.from(hash)
      other[15] = i & 255
      other[14] = i >> 8
      return other
    }),
  )
  for (const [row, hash] of near.entries()) owners.claim(hash, row)
  assert.equal(owners.size, 300)
  for (const [row, hash] of near.entries()) assert.equal(owners.claim(hash, 1), row)
})

test('owners: what was never claimed is not had, not even a hash of zeros', () => {
  const owners = new Owners(1000)
  const [claimed, never] = hashes(2, 7)
  if (!claimed || !never) assert.fail('two hashes were asked for')
  owners.claim(claimed, 0)
  assert.ok(owners.has(claimed))
  assert.ok(!owners.has(never))
  assert.ok(!owners.has(new Uint8Array(16)))
  owners.claim(new Uint8Array(16), 7)
  assert.ok(owners.has(new Uint8Array(16)))
})

test('owners: a view into a longer array, at any offset, is the hash it shows', () => {
  const owners = new Owners()
  const long = new Uint8Array(51)
  const hash = hashes(1, 9)[0] ?? new Uint8Array(16)
  long.set(hash, 3)
  owners.claim(long.subarray(3, 19), 4)
  assert.equal(owners.claim(hash, 8), 4)
})
