import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Extracted } from '../../../actors/extractor/machine.ts'
import type { LoadedModel } from '../../../actors/extractor/model.ts'
import { stepsOf } from '../../../actors/extractor/steps.ts'
import { Pulse } from '../../../protocol/pulse.ts'
import type { Batch, QuarantinedSample, SampleRef } from '../../../protocol/sample.ts'
import { Failure } from '../../../src/failure.ts'
import { type Claims, openClaims } from '../../../src/spool/claims.ts'
import { openSpool, type Spool } from '../../../src/spool/spool.ts'
import { HastyClock } from '../../src/store/hasty-clock.ts'
import { silent } from '../../support/ledger-rig.ts'
import { ledgerPeer, readerPeer } from '../../support/peers.ts'
import { hashOfIds } from '../../support/planned.ts'
import { scratch } from '../../support/target-run.ts'

const batch: Batch = {
  id: 'b000004',
  rows: [
    { row: 0, hash: hashOfIds([1, 2]), tokens: 2, wanted: true },
    { row: 1, hash: hashOfIds([3]), tokens: 1, wanted: false },
  ],
  tokenIds: Int32Array.of(1, 2, 3),
}

/** A model of one layer and two numbers a token. */
const modelOf = (forward: LoadedModel['forward']): LoadedModel => ({
  forward,
  captures: ['1'],
  hidden: 2,
  metadata: {},
  release: async () => undefined,
})

async function open(
  t: TestContext,
  around: (spool: Spool) => Spool = (spool) => spool,
  aroundClaims: (claims: Claims) => Claims = (claims) => claims,
) {
  const work = await scratch(t)
  const spool = around(await openSpool(join(work, 'spool')))
  const pulse = new Pulse()
  const claims = aroundClaims(openClaims(work))
  const story: string[] = []
  const told: { spooled: readonly SampleRef[]; quarantined: readonly QuarantinedSample[] } = {
    spooled: [],
    quarantined: [],
  }
  /** What the ledger says to who asks for room; afterwards there is room. */
  const refusals: boolean[] = []
  const claimed = () =>
    claims.verdict('b000004', 2) && existsSync(join(work, 'claims/b000004.claim.json'))
  const clock = new HastyClock()
  const steps = stepsOf({
    id: 'extractor/0',
    dtype: 'f32',
    model: modelOf(async ({ rows, width }) => {
      story.push(`forward, claimed: ${claimed()}, busy: ${pulse.read().busy?.work}`)
      return [new Float32Array(rows * width * 2)]
    }),
    spool,
    keepFree: 0,
    claims,
    pulse,
    log: silent,
    clock,
    reader: readerPeer(t, {
      next: () => ({ kind: 'later' }),
      done: (ask) => story.push(`done ${ask.batch}, claimed: ${claimed()}`),
    }),
    ledger: ledgerPeer(t, {
      room: ({ bytes }) => {
        story.push(`room ${bytes}`)
        return refusals.pop() ?? true
      },
      spooled: (samples) => {
        story.push(`spooled ${samples.length}, claimed: ${claimed()}`)
        Object.assign(told, { spooled: samples })
      },
      quarantined: (samples) => {
        story.push(`quarantined ${samples.length}`)
        Object.assign(told, { quarantined: samples })
      },
    }),
  })
  return { steps, refusals, story, told, pulse, spool, clock }
}

test('extractor: it claims before it computes, until all is told', async (t) => {
  const { steps, story, told, spool, pulse } = await open(t)
  assert.equal(await steps.room(batch), true)
  const extracted = await steps.compute(batch)
  await steps.tell(extracted)
  assert.deepEqual(story.slice(1), [
    'forward, claimed: true, busy: b000004: 2 rows of 2 tokens',
    'spooled 1, claimed: true',
    'done b000004, claimed: false',
  ])
  assert.equal(pulse.read().busy, undefined)
  const [sample] = told.spooled
  if (!sample) assert.fail('a sample was spooled')
  assert.deepEqual([sample.hash, sample.tokens], [hashOfIds([1, 2]), 2])
  assert.ok(existsSync(spool.path(sample)))
})

test('extractor: it says that it waits for room only once it was refused', async (t) => {
  const { refusals, steps } = await open(t)
  const says = () => steps.work('waitingForRoom')
  assert.equal(says(), 'asks for room')
  refusals.push(false)
  assert.equal(await steps.room(batch), false)
  assert.equal(says(), 'waits for room in the spool')
  assert.equal(await steps.room(batch), true)
  assert.equal(says(), 'asks for room')
})

test('extractor: it asks for the room that its wanted rows take', async (t) => {
  const { steps, story } = await open(t)
  assert.equal(await steps.room(batch), true)
  // Two tokens of two float32 and an id each, and what a file's header may take.
  assert.deepEqual(story, [`room ${2 * (2 * 4 + 8) + 4096}`])
  assert.deepEqual(await steps.ask(), { kind: 'later' })
})

test('extractor: the quarantined are told first', async (t) => {
  const { steps, story, told } = await open(t)
  const bad = { hash: hashOfIds([1, 2]), tokens: 2, reason: 'not finite' }
  const extracted: Extracted = { batch: 'b000004', spooled: [], quarantined: [bad] }
  await steps.tell(extracted)
  assert.deepEqual(
    story.map((line) => line.split(' ')[0]),
    ['quarantined', 'spooled', 'done'],
  )
  assert.deepEqual(told.quarantined, [bad])
})

test('extractor: on a full disk a file is written again, and no thread is blocked', async (t) => {
  let left = 3
  const { steps, clock, pulse, told } = await open(t, (spool) => ({
    ...spool,
    add: async (sample) => {
      if (left-- > 0) throw new Failure('unavailable', 'sample not written. code=ENOSPC')
      return await spool.add(sample)
    },
  }))
  const extracted = await steps.compute(batch)
  await steps.tell(extracted)
  assert.equal(told.spooled.length, 1)
  assert.deepEqual(clock.waitsMs, [1000, 1000, 1000])
  assert.equal(pulse.read().busy, undefined)
})

test('extractor: a claim that finds no room keeps its batch waiting', async (t) => {
  let left = 1
  const { steps, story, clock } = await open(t, undefined, (claims) => ({
    ...claims,
    claim: (...claim) => {
      if (left-- > 0) throw new Failure('unavailable', 'claim cannot be written. code=ENOSPC')
      claims.claim(...claim)
    },
  }))
  assert.equal(await steps.room(batch), false)
  assert.deepEqual(clock.waitsMs, [1000])
  assert.equal(await steps.room(batch), true)
  assert.equal(story.length, 2)
})

test('extractor: a folder that cannot be written ends it', async (t) => {
  const { steps } = await open(t, (spool) => ({
    ...spool,
    add: async () => {
      throw new Failure('invalid', 'sample not written. code=EACCES')
    },
  }))
  await assert.rejects(steps.compute(batch), { kind: 'invalid' })
})

test('extractor: its state names the batch it computes', async (t) => {
  const { steps } = await open(t)
  await steps.compute(batch)
  assert.equal(steps.work('computing'), 'computing b000004')
  assert.equal(steps.work('asking'), 'waits for a batch')
  assert.equal(steps.work('finished'), 'finished')
})
