import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashes, openReader } from '../../support/reader-rig.ts'

test('reader: a batch that kills is halved down to the one row that does', async (t) => {
  const { reader, ledger, finish, die } = await openReader(t)
  const killer = hashes[5] ?? ''
  const computed: string[] = []
  let deaths = 0
  for (;;) {
    const next = await reader.next('extractor/0')
    if (next.kind === 'finished') break
    if (next.kind !== 'batch') continue
    const { batch } = next
    if (batch.rows.some(({ hash }) => hash === killer)) {
      assert.ok(++deaths < 20, 'it dies for ever')
      die(batch)
    } else {
      finish(batch)
      computed.push(...batch.rows.map(({ hash }) => hash))
    }
  }
  assert.deepEqual(
    ledger.quarantined.map(({ hash }) => hash),
    [killer],
  )
  assert.match(ledger.quarantined[0]?.reason ?? '', /ended its extractor/)
  assert.deepEqual(computed.sort(), hashes.filter((hash) => hash !== killer).sort())
  assert.deepEqual(reader.status().outcome, { committed: 11, quarantined: 1, failed: 0 })
  assert.equal(reader.status().halved.length, 1)
})

test('reader: one bad batch holds up no other', async (t) => {
  const { take, finish, die } = await openReader(t)
  const bad = await take()
  die(bad)
  for (let i = 0; i < 5; i++) {
    const batch = await take()
    assert.notEqual(batch.id, bad.id)
    finish(batch)
  }
  assert.equal((await take()).id, bad.id)
})

test('reader: a claim that a full disk kept from being judged binds nobody for ever', async (t) => {
  const { reader, claims, take } = await openReader(t)
  const batch = await take('extractor/0')
  claims.claim(batch.id, { by: 'extractor/0', rows: batch.rows.length })
  reader.holderEnded('extractor/0')
  assert.equal((await take('extractor/0')).id, batch.id)
})

test('reader: what a dead extractor had claimed waits until its death is judged', async (t) => {
  const { reader, claims, take, finish } = await openReader(t)
  const batch = await take()
  claims.claim(batch.id, { by: 'extractor/0', rows: batch.rows.length })
  reader.holderEnded('extractor/0')
  for (let i = 0; i < 5; i++) finish(await take('extractor/1'))
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  assert.equal(claims.forgive('extractor/0'), batch.id)
  assert.equal((await take('extractor/1')).id, batch.id)
})

test('reader: what kills is hunted alone, one batch to its end before the next', async (t) => {
  const { reader, take, finish, die } = await openReader(t)
  const bad = [await take(), await take('extractor/1'), await take('extractor/2')]
  for (const [i, batch] of bad.entries()) die(batch, `extractor/${i}`)
  for (let i = 0; i < 3; i++) finish(await take())

  const hunted = await take()
  assert.ok(bad.some(({ id }) => id === hunted.id))
  assert.deepEqual(await reader.next('extractor/1'), { kind: 'later' })
  die(hunted)
  assert.equal((await take('extractor/1')).id, hunted.id)
  die(hunted, 'extractor/1')
  const half = await take()
  assert.equal(half.id, `${hunted.id}.0`)
  finish(half)
  assert.equal((await take()).id, `${hunted.id}.1`)
})
