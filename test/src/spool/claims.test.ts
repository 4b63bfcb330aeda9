import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Claims, openClaims } from '../../../src/spool/claims.ts'
import {
  isStorm,
  planned,
  streakAfter,
  streakAfterQuarantine,
  verdictOn,
} from '../../../src/spool/suspicion.ts'
import { folder, makePipes } from './folder.ts'

const by = 'extractor/0'
const witnessed = { witnessed: true }

/** The batch ends its extractor, so many times. */
function die(
  claims: Claims,
  batch: string,
  { times, rows }: { times: number; rows: number },
): void {
  for (let i = 0; i < times; i++) {
    claims.claim(batch, { by, rows })
    assert.equal(claims.charge(by, witnessed), batch)
  }
}

test('suspicion: a batch is halved at its third witnessed death or its eighth of any kind', () => {
  const verdict = (seen: number, unseen: number) =>
    verdictOn('b000001', 8, { witnessed: seen, unwitnessed: unseen })
  assert.equal(verdict(0, 0), 'run')
  assert.equal(verdict(2, 0), 'run')
  assert.equal(verdict(3, 0), 'halve')
  assert.equal(verdict(0, 7), 'run')
  assert.equal(verdict(0, 8), 'halve')
  assert.equal(verdict(2, 5), 'run')
  assert.equal(verdict(2, 6), 'halve')
})

test('suspicion: a half is halved at its next death, a single row given up at its third', () => {
  const once = { witnessed: 1, unwitnessed: 0 }
  assert.equal(verdictOn('b000001.0', 4, { witnessed: 0, unwitnessed: 0 }), 'run')
  assert.equal(verdictOn('b000001.0', 4, once), 'halve')
  assert.equal(verdictOn('b000001.0.1', 2, { witnessed: 0, unwitnessed: 1 }), 'halve')
  for (const id of ['b000001', 'b000001.0.1']) {
    assert.equal(verdictOn(id, 1, { witnessed: 2, unwitnessed: 5 }), 'run')
    assert.equal(verdictOn(id, 1, { witnessed: 3, unwitnessed: 0 }), 'quarantine')
    assert.equal(verdictOn(id, 1, { witnessed: 1, unwitnessed: 7 }), 'quarantine')
  }
})

test('suspicion: three different batches are a storm; a batch and its halves are one', () => {
  const streak = (...deaths: string[][]) => deaths.reduce<readonly string[]>(streakAfter, [])
  assert.equal(isStorm(streak(['a'], ['b'])), false)
  assert.equal(isStorm(streak(['a'], ['b'], ['c'])), true)
  assert.equal(isStorm(streak(['a'], ['a'], ['b'], ['a'], ['b'])), false)
  assert.equal(isStorm(streak(['a'], ['a.0'], ['a.0.1'], ['b'], ['a.1'])), false)
  assert.equal(planned('b000017.0.1'), 'b000017')
})

test('suspicion: batches that one death interrupted are one entry, in any order', () => {
  const streak = (...deaths: string[][]) => deaths.reduce<readonly string[]>(streakAfter, [])
  assert.equal(isStorm(streak(['a', 'b'], ['b', 'a'], ['a.0', 'b.1'], [])), false)
  assert.equal(isStorm(streak(['a', 'b'], ['c', 'd'], ['e', 'f'])), true)
})

test('suspicion: three samples given up with nothing done between are a storm', () => {
  const two = streakAfterQuarantine(streakAfterQuarantine(['a', 'b'], 'a.0'), 'a.1')
  assert.equal(isStorm(two), false)
  assert.equal(isStorm(streakAfterQuarantine(two, 'b.0')), true)
})

test('claims: a death is charged to the batch that the dead one held, once', (t) => {
  const claims = openClaims(folder(t))
  assert.equal(claims.charge(by, witnessed), null)
  claims.claim('b000001', { by, rows: 8 })
  claims.claim('b000002', { by: 'extractor/1', rows: 8 })
  assert.equal(claims.charge(by, witnessed), 'b000001')
  assert.equal(claims.charge(by, witnessed), null)
  assert.equal(claims.charge('extractor/1', witnessed), 'b000002')
})

test('claims: counts outlive the process, and end with the batch', (t) => {
  const work = folder(t)
  die(openClaims(work), 'b000001', { times: 2, rows: 8 })
  assert.equal(openClaims(work).verdict('b000001', 8), 'run')
  die(openClaims(work), 'b000001', { times: 1, rows: 8 })
  assert.equal(openClaims(work).verdict('b000001', 8), 'halve')
  assert.deepEqual(openClaims(work).halved(), ['b000001'])

  die(openClaims(work), 'b000002', { times: 2, rows: 8 })
  openClaims(work).done('b000002')
  die(openClaims(work), 'b000002', { times: 2, rows: 8 })
  assert.equal(openClaims(work).verdict('b000002', 8), 'run')
})

test('claims: an ordered death charges nobody and forgets nothing', (t) => {
  const claims = openClaims(folder(t))
  for (let i = 0; i < 10; i++) {
    claims.claim('b000001', { by, rows: 8 })
    assert.equal(claims.forgive(by), 'b000001')
  }
  assert.equal(claims.verdict('b000001', 8), 'run')
  assert.equal(claims.forgive(by), null)
  assert.equal(claims.storm(), false)

  die(claims, 'b000001', { times: 2, rows: 8 })
  claims.claim('b000001', { by, rows: 8 })
  claims.forgive(by)
  die(claims, 'b000001', { times: 1, rows: 8 })
  assert.equal(claims.verdict('b000001', 8), 'halve')
})

test('claims: a machine that went counts apart, for all that was held, and is no storm', (t) => {
  const work = folder(t)
  for (let start = 1; start <= 8; start++) {
    const claims = openClaims(work)
    for (let i = 0; i < 4; i++) claims.claim(`b00000${i}`, { by: `extractor/${i}`, rows: 8 })
    const found = openClaims(work).chargeAll({ witnessed: false })
    assert.deepEqual(found, ['b000000', 'b000001', 'b000002', 'b000003'])
    assert.deepEqual(openClaims(work).chargeAll({ witnessed: false }), [])
    assert.equal(claims.storm(), false)
    assert.equal(claims.verdict('b000000', 8), start < 8 ? 'run' : 'halve', `start=${start}`)
  }
})

test('claims: the one sample that kills is found by halving, and quarantined', (t) => {
  const work = folder(t)
  const killer = 5
  const queue: { id: string; rows: number[] }[] = [
    { id: 'b000007', rows: [0, 1, 2, 3, 4, 5, 6, 7] },
  ]
  const done: number[] = []
  const quarantined: number[] = []
  let deaths = 0
  for (let batch = queue.shift(); batch; batch = queue.shift()) {
    const { id, rows } = batch
    // Opened anew each time: all that is known lies on disk.
    const claims = openClaims(work)
    const verdict = claims.verdict(id, rows.length)
    if (verdict === 'halve') {
      const half = Math.ceil(rows.length / 2)
      queue.unshift({ id: `${id}.0`, rows: rows.slice(0, half) })
      queue.unshift({ id: `${id}.1`, rows: rows.slice(half) })
      continue
    }
    if (verdict === 'quarantine') {
      quarantined.push(...rows)
      continue
    }
    claims.claim(id, { by, rows: rows.length })
    if (rows.includes(killer)) {
      claims.charge(by, witnessed)
      deaths++
      queue.unshift(batch)
    } else {
      claims.done(id)
      done.push(...rows)
    }
    assert.equal(claims.storm(), false)
  }
  assert.deepEqual(quarantined, [killer])
  assert.deepEqual(done.sort(), [0, 1, 2, 3, 4, 6, 7])
  // Three for the batch, one for a half of four, one for a half of two, three for the row.
  assert.equal(deaths, 3 + 1 + 1 + 3)
  assert.deepEqual(openClaims(work).halved(), ['b000007', 'b000007.1', 'b000007.1.0'])
})

test('claims: three different batches in a row are a storm, until one is done', (t) => {
  const claims = openClaims(folder(t))
  die(claims, 'b000001', { times: 1, rows: 8 })
  die(claims, 'b000002', { times: 1, rows: 8 })
  claims.done('b000009')
  die(claims, 'b000003', { times: 1, rows: 8 })
  die(claims, 'b000004', { times: 1, rows: 8 })
  assert.equal(claims.storm(), false)
  die(claims, 'b000005', { times: 1, rows: 8 })
  assert.equal(claims.storm(), true)
  claims.done('b000005')
  assert.equal(claims.storm(), false)
})

test('claims: what a crash of the machine tore counts as no claim', (t) => {
  const work = folder(t)
  const claims = openClaims(work)
  die(claims, 'b000001', { times: 2, rows: 8 })
  claims.claim('b000002', { by, rows: 8 })
  const dir = join(work, 'claims')
  truncateSync(join(dir, 'b000001.claim.json'), 0)
  writeFileSync(join(dir, 'streak.json'), '["b0000')
  writeFileSync(join(dir, 'b000003.claim.json.0123.tmp'), '{')
  assert.equal(claims.verdict('b000001', 8), 'run')
  assert.deepEqual(claims.chargeAll({ witnessed: false }), ['b000002'])
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.endsWith('.tmp')),
    [],
  )
})

test('claims: a batch id is a file name and nothing else; a folder in the way is told', (t) => {
  const work = folder(t)
  const claims = openClaims(work)
  for (const id of ['', '../b1', 'b1.2', 'b1.', 'a/b']) {
    assert.throws(() => claims.claim(id, { by, rows: 1 }), { kind: 'invalid' }, id)
  }
  writeFileSync(join(work, 'file'), '')
  assert.throws(() => openClaims(join(work, 'file')), { kind: 'invalid', message: /ENOTDIR/ })
  mkdirSync(join(work, 'claims', 'b000001.claim.json'))
  assert.throws(() => claims.verdict('b000001', 1), { kind: 'invalid', message: /no file/ })
})

test('claims: one who claims a batch holds no other any more, and its deaths stay', (t) => {
  const claims = openClaims(folder(t))
  die(claims, 'b000001', { times: 1, rows: 2 })
  claims.claim('b000001', { by, rows: 2 })
  assert.equal(claims.holder('b000001'), by)
  claims.claim('b000002', { by, rows: 2 })
  assert.equal(claims.holder('b000001'), null)
  assert.equal(claims.isSuspect('b000001'), true)
  assert.equal(claims.charge(by, witnessed), 'b000002')
})

test('claims: when the run is done, only what was halved stays known', (t) => {
  const claims = openClaims(folder(t))
  claims.claim('b000001', { by, rows: 8 })
  claims.chargeAll({ witnessed: false })
  for (let death = 0; death < 3; death++) {
    claims.claim('b000002', { by, rows: 8 })
    claims.charge(by, witnessed)
  }
  claims.settle()
  assert.equal(claims.isSuspect('b000001'), false)
  assert.deepEqual(claims.halved(), ['b000002'])
})

test('claims: what bears the name of a claim and is no file blocks no start', (t) => {
  const work = folder(t)
  const claims = openClaims(work)
  claims.claim('b000001', { by, rows: 2 })
  const dir = join(work, 'claims')
  const pipes = ['b000002.claim.json', 'b000003.claim.json.tmp'].map((name) => join(dir, name))
  if (!makePipes(t, pipes)) return
  mkdirSync(join(dir, 'b000004.claim.json'))
  mkdirSync(join(dir, 'b000005.claim.json.tmp'))
  assert.deepEqual(openClaims(work).chargeAll({ witnessed: false }), ['b000001'])
  assert.equal(readdirSync(dir).length, 5)
})

test('claims: what stands in the place of a claim is refused by its name', (t) => {
  const work = folder(t)
  const claims = openClaims(work)
  if (!makePipes(t, [join(work, 'claims/b000002.claim.json')])) return
  mkdirSync(join(work, 'claims/b000004.claim.json'))
  for (const batch of ['b000002', 'b000004']) {
    assert.throws(() => claims.claim(batch, { by, rows: 2 }), {
      kind: 'invalid',
      message: new RegExp(`no file.*${batch}`),
      remedy: /Remove it/,
    })
  }
})
