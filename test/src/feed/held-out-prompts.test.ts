import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import type { Sample, Unusable } from '../../../src/dataset/open-batch.ts'
import { heldOutPrompts } from '../../../src/feed/held-out-prompts.ts'
import { isHeldOut, makeSplit } from '../../../src/feed/split.ts'

const sample = (ids: readonly number[], prompt: number): Sample => ({
  ids: Int32Array.from(ids),
  mask: Uint8Array.from(ids, (_, i) => (i < prompt ? 0 : 1)),
})
const hashOf = ({ ids }: Sample): string => contentHash(ids).toString('hex')

test('held-out prompts: of each sample what comes before its answer, in order of hashes', () => {
  const samples = Array.from({ length: 40 }, (_, n) => sample([n, 1, 2, 3, 4], n % 4))
  const hashes = Buffer.concat(samples.map(({ ids }) => contentHash(ids)))
  const split = makeSplit(hashes, { seed: 1, share: 0.5 })
  const shorter = samples.map(({ ids }, n) => sample([...ids], (n % 4) - (n % 4 === 3 ? 1 : 0)))
  const rows: (Sample | Unusable)[] = [...samples, { unusable: 'empty' }, ...shorter]
  const limits = { vocab: 100, maxTokens: 10 }
  const read = (of: typeof rows) =>
    heldOutPrompts({ rows: of.length, read: (row) => of[row] }, split, limits)
  const want = samples
    .map((one, n) => ({ hash: hashOf(one), ids: [...one.ids].slice(0, Math.min(n % 4, 2)) }))
    .filter(({ hash, ids }) => ids.length > 0 && isHeldOut(split, hash))
    .sort((a, b) => (a.hash < b.hash ? -1 : 1))
  assert.ok(want.length > 5)
  assert.deepEqual(read(rows), want)
  assert.deepEqual(read([...rows].reverse()), want)
})
