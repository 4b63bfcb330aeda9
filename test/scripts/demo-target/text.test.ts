import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawRows } from '../../../scripts/demo-target/text.ts'
import { heldOutThemes, themes } from '../../../src/demo/themes.ts'
import { marks } from '../../../src/demo/tokens.ts'

const shape = { rows: 8, tokens: 256 }
const from = {
  themes: [...Object.values(themes), ...Object.values(heldOutThemes)],
  source: Buffer.from('const answer = 42 '.repeat(100)),
}

test('training text: each token is labelled with the next, and weights add up to one', () => {
  const { ids, labels, weights } = drawRows(shape, from, { seed: 1, step: 7 })
  for (let i = 0; i < ids.length - 1; i++) {
    if ((i + 1) % shape.tokens > 0) assert.equal(labels[i], ids[i + 1])
  }
  for (let row = 0; row < shape.rows; row++) {
    assert.equal(ids[row * shape.tokens], BigInt(marks.start))
  }
  const sum = weights.reduce((all, weight) => all + weight, 0)
  assert.ok(Math.abs(sum - 1) < 1e-4, `sum=${sum}`)
})

test('training text: a step draws the same rows again, another step others', () => {
  const at = { seed: 1, step: 7 }
  assert.deepEqual(drawRows(shape, from, at), drawRows(shape, from, at))
  assert.notDeepEqual(drawRows(shape, from, at).ids, drawRows(shape, from, { ...at, step: 8 }).ids)
})
