import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type EvaluationOptions, evaluate } from '../../../src/decode/evaluate.ts'
import { requireFinite } from '../../../src/decode/finite.ts'
import type { DecodingTarget } from '../../../src/decode/target-text.ts'
import { isFailure } from '../../../src/failure.ts'
import { openDrafter } from '../../../src/models/drafter.ts'
import { configOf, weightsOf, writeCheckpoint } from '../../support/checkpoint.ts'
import { decodingPair } from '../../support/decoding.ts'
import { golden } from '../../support/golden.ts'
import { scratch } from '../../support/target-run.ts'

const prompts = [
  [53, 235, 238],
  [176, 261, 78],
  [7, 8, 9, 10],
]
const openPair = (t: TestContext) =>
  decodingPair(t, {
    target: golden('targets', 'qwen3_tied_f32'),
    drafter: golden('dflash', 'drafter_b8_overfit'),
  })

function optionsOf(given: Partial<EvaluationOptions>): EvaluationOptions {
  const stopTokens = new Set<number>()
  const usual = { blockSize: 8, maxNewTokens: 12, temperature: 0, seed: 0, stopTokens }
  return { ...usual, onPrompt: () => {}, ...given }
}

test('evaluation: every prompt both ways, the same text, all of it measured', async (t) => {
  const pair = await openPair(t)
  let told = 0
  const onPrompt = () => {
    told++
  }
  const found = await evaluate(pair, prompts, optionsOf({ onPrompt }))
  assert.equal(told, 3)
  assert.deepEqual(found.differences, [])
  assert.equal(found.acceptance.prompts, 3)
  // The first token is the prompt's own.
  assert.deepEqual([found.alone.tokens, found.drafted.tokens], [33, 33])
  for (const { tokensPerSecond } of [found.alone, found.drafted]) assert.ok(tokensPerSecond)
  for (const pass of Object.values(found.passes)) assert.ok(pass !== null && pass > 0)
  assert.ok(found.leadMin !== null && found.leadMin > 0)
})

test('evaluation: what is drawn is the same for the same seed, and is not compared', async (t) => {
  const pair = await openPair(t)
  const drawn = async (seed: number) =>
    (await evaluate(pair, prompts, optionsOf({ temperature: 0.3, seed }))).acceptance
  const [first, again, other] = [await drawn(1), await drawn(1), await drawn(2)]
  assert.deepEqual(first, again)
  assert.notDeepEqual(first, other)
  const { leadMin, differences } = await evaluate(pair, prompts, optionsOf({ temperature: 0.3 }))
  assert.deepEqual([leadMin, differences], [null, []])
})

test('evaluation: a first token that ends the text leaves nothing to measure', async (t) => {
  const pair = await openPair(t)
  const stopTokens = new Set(Array.from({ length: 320 }, (_, id) => id))
  const found = await evaluate(pair, prompts, optionsOf({ stopTokens }))
  assert.deepEqual([found.acceptance.tau, found.acceptance.prompts], [null, 0])
  assert.deepEqual([found.alone.tokensPerSecond, found.drafted.tokens], [null, 0])
  assert.deepEqual(found.differences, [])
})

/** A target that says something else where it reads a block. */
const inconsistent = (target: DecodingTarget, by: number): DecodingTarget => ({
  ...target,
  text(capacity) {
    const text = target.text(capacity)
    return {
      get length() {
        return text.length
      },
      keep: (count) => text.keep(count),
      async read(ids, want) {
        const reading = await text.read(ids, want)
        if (want === 'all') reading.logits.data[5] += by
        return reading
      },
    }
  },
})

test('evaluation: a text that a drafter changes is told, with the place', async (t) => {
  const pair = await openPair(t)
  const target = inconsistent(pair.target, 100)
  const found = await evaluate({ ...pair, target }, prompts, optionsOf({}))
  assert.equal(found.differences.length, 3)
  for (const [i, { prompt, at, drafted, isTie }] of found.differences.entries()) {
    assert.deepEqual([prompt, at, drafted, isTie], [i, 1, 5, false])
  }
})

test('evaluation: a drafter with a value that is no number is refused by name', async (t) => {
  const original = golden('dflash', 'drafter_b8')
  await requireFinite(await openDrafter(original))
  const tensors = weightsOf(original).map((tensor) => {
    const data = Uint8Array.from(tensor.data)
    if (tensor.name === 'norm.weight') new DataView(data.buffer).setFloat32(8, Infinity, true)
    return { ...tensor, data }
  })
  const dir = await writeCheckpoint(join(await scratch(t), 'inf'), configOf(original), tensors)
  await assert.rejects(requireFinite(await openDrafter(dir)), (error) => {
    return isFailure(error, 'invalid') && /not finite.*tensor=norm\.weight/.test(error.message)
  })
})
