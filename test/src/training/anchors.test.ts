import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { seededRandom } from '../../../src/clock.ts'
import {
  type AnchorRule,
  drawAnchors,
  eligibleAnchors,
  hasEligibleAnchor,
  randomOfRow,
} from '../../../src/training/anchors.ts'
import { goldenJson } from '../../support/golden.ts'

const positions = z.union([z.array(z.int()), z.string()])
const casesSchema = z.array(
  z.object({
    S: z.int(),
    block_size: z.int(),
    loss_mask: z.array(z.int()),
    specforge: positions,
    torchspec: positions,
    speculators: positions,
  }),
)

const ruleOf: Record<'specforge' | 'torchspec' | 'speculators', AnchorRule> = {
  specforge: 'next-supervised',
  torchspec: 'whole-block',
  speculators: 'before-last-block',
}

test('anchors: each rule allows the positions that its trainer may draw', () => {
  for (const found of casesSchema.parse(goldenJson('dflash', 'eligible_anchors.json'))) {
    const mask = Uint8Array.from(found.loss_mask)
    for (const trainer of ['specforge', 'torchspec', 'speculators'] as const) {
      const options = { rule: ruleOf[trainer], blockSize: found.block_size }
      // SpecForge refuses a sample without any: a text instead of a list.
      const want = typeof found[trainer] === 'string' ? [] : found[trainer]
      const where = `${trainer}, S=${found.S}, b=${found.block_size}`
      assert.deepEqual(eligibleAnchors(mask, options), want, where)
      assert.equal(hasEligibleAnchor(mask, options), want.length > 0, where)
    }
  }
})

test('anchors: a draw takes each position once, all where fewer are wanted, in order', () => {
  const eligible = [2, 3, 5, 7, 11, 13]
  const random = seededRandom(1)
  for (const count of [1, 3, 5]) {
    const drawn = drawAnchors(eligible, count, random)
    assert.equal(new Set(drawn).size, count)
    assert.ok(drawn.every((p) => eligible.includes(p)))
    assert.deepEqual(
      drawn,
      drawn.toSorted((a, b) => a - b),
    )
  }
  assert.deepEqual(drawAnchors(eligible, 512, random), eligible)
  assert.deepEqual(drawAnchors([], 512, random), [])
})

test('anchors: every pair is drawn about as often as any other', () => {
  const random = seededRandom(5)
  const counts = new Map<string, number>()
  for (let i = 0; i < 6000; i++) {
    const key = drawAnchors([0, 1, 2, 3], 2, random).join()
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  // 6 pairs, 1000 each: χ² of 5 degrees of freedom lies below 20.5 in 999 of 1000 tries.
  const chi = [...counts.values()].reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0)
  assert.equal(counts.size, 6)
  assert.ok(chi < 20.5, `chi square ${chi}`)
})

test('anchors: chance of a row is its own, the same whenever it is asked', () => {
  const first = (seed: number, plan: number, row: number) => randomOfRow({ seed, plan, row })()
  assert.equal(first(1, 2, 3), first(1, 2, 3))
  const all = new Set([
    first(1, 2, 3),
    first(2, 2, 3),
    first(1, 3, 3),
    first(1, 2, 4),
    first(3, 2, 1),
  ])
  assert.equal(all.size, 5)
})
