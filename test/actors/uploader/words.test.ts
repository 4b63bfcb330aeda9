import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoredWords } from '../../../actors/uploader/words.ts'
import type { Lease, StoredWord } from '../../../protocol/ledger.ts'
import { Failure } from '../../../src/failure.ts'
import { hashOf } from '../../support/ledger-rig.ts'
import { ledgerPeer } from '../../support/peers.ts'

const leaseOf = (id: number): Lease => ({
  id,
  sample: { hash: hashOf(id), tokens: 1, bytes: 1, crc32: id },
  permit: null,
})
const endOf = (lease: number) => ({ lease, permit: null, key: `k${lease}` })

test('stored words: with few lanes busy each goes at once, and brings the next', async (t) => {
  const told: StoredWord[] = []
  const peer = ledgerPeer(t, {
    stored: (word) => {
      told.push(word)
      return word.want === 0 ? [] : [leaseOf(8)]
    },
  })
  const words = new StoredWords(peer, () => 11)
  assert.deepEqual(await words.tell(endOf(1), true), leaseOf(8))
  assert.equal(await words.tell(endOf(2), false), undefined)
  assert.deepEqual(told, [
    { ends: [endOf(1)], want: 1 },
    { ends: [endOf(2)], want: 0 },
  ])
})

test('stored words: with many busy some go together; leases to those that want one', async (t) => {
  const told: StoredWord[] = []
  const peer = ledgerPeer(t, {
    stored: (word) => {
      told.push(word)
      return [leaseOf(8), leaseOf(9)]
    },
  })
  const words = new StoredWords(peer, () => 36)
  const wants = [true, false, true, true]
  const got = await Promise.all(wants.map((want, i) => words.tell(endOf(i), want)))
  assert.deepEqual(
    got.map((lease) => lease?.id),
    [8, undefined, 9, undefined],
  )
  assert.deepEqual(told, [{ ends: [0, 1, 2, 3].map(endOf), want: 3 }])
})

test('stored words: one for which no other comes does not wait for long', async (t) => {
  const peer = ledgerPeer(t, { stored: () => [] })
  assert.equal(await new StoredWords(peer, () => 1000).tell(endOf(1), true), undefined)
})

test('stored words: what the ledger cannot take fails each of them', async (t) => {
  const refused = new Failure('invalid', 'no')
  const peer = ledgerPeer(t, { stored: () => Promise.reject(refused) })
  const words = new StoredWords(peer, () => 12)
  const ends = await Promise.allSettled([1, 2].map((id) => words.tell(endOf(id), true)))
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
})
