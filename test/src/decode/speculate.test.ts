/** Decoding against z-lab's own runs: test/golden/dflash/spec_decode.json. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { acceptanceOf } from '../../../src/decode/acceptance.ts'
import { differenceOf } from '../../../src/decode/difference.ts'
import { decodeAlone, speculate, type Wanted } from '../../../src/decode/speculate.ts'
import { rowOf } from '../../../src/decode/text.ts'
import { best, greedily, type Verify } from '../../../src/decode/verify.ts'
import { decodingPair, decodingTarget } from '../../support/decoding.ts'
import { golden, goldenJson } from '../../support/golden.ts'
import { needsShared } from '../../support/needs.ts'
import { type AfterKeep, recurrentText, recurrentVocab } from '../../support/recurrent-text.ts'

const ids = z.array(z.int())
const runSchema = z.object({
  drafter: z.string(),
  prompt: ids,
  max_new_tokens: z.int(),
  stop_token_ids: ids.nullable(),
  target_only_greedy: ids.optional(),
  spec_output: ids,
  acceptance_lengths: ids,
  mean_acceptance_length: z.number(),
  min_top1_top2_gap: z.number().optional(),
  steps: z.array(z.object({ drafted: ids, target_argmax: ids, accept_len: z.int() })).optional(),
})
const { runs, summary } = z
  .object({
    runs: z.array(runSchema),
    summary: z.record(
      z.string(),
      z.object({
        mean_over_prompts_of_mean_per_prompt: z.number(),
        histogram_of_accept_len: z.record(z.string(), z.int()),
      }),
    ),
  })
  .parse(goldenJson('dflash', 'spec_decode.json'))

const near = (found: number | null, want: number, tolerance: number) =>
  assert.ok(found !== null && Math.abs(found - want) <= tolerance, `want=${want}, found=${found}`)

for (const [name, expected] of Object.entries(summary)) {
  test(`decoding ${name}: every draft, verdict and token as z-lab's own`, async (t) => {
    const own = runs.filter(({ drafter }) => drafter === name)
    assert.equal(own.length, 5)
    const dirs = { target: golden('targets', 'qwen3_tied_f32'), drafter: golden('dflash', name) }
    const pair = await decodingPair(t, dirs)
    const lengths: number[][] = []
    for (const run of own) {
      const wanted: Wanted = {
        prompt: run.prompt,
        maxNewTokens: run.max_new_tokens,
        stopTokens: new Set(run.stop_token_ids ?? []),
      }
      const capacity = run.prompt.length + run.max_new_tokens + 16
      const texts = { target: pair.target.text(capacity), drafter: pair.drafter.text(capacity) }
      const said: number[][] = []
      const listening: Verify = (drafts, logits) => {
        if (drafts.length > 0) said.push([...drafts, 0].map((_, i) => best(rowOf(logits, i)).id))
        return greedily(drafts, logits)
      }
      const found = await speculate(texts, wanted, listening)
      assert.deepEqual(found.tokens, run.spec_output)
      assert.deepEqual(
        found.steps.map(({ accepted }) => accepted + 1),
        run.acceptance_lengths,
      )
      for (const [i, step] of (run.steps ?? []).entries()) {
        assert.deepEqual(found.steps[i].drafted, step.drafted, `step ${i}`)
        assert.deepEqual(said[i], step.target_argmax, `step ${i}`)
      }
      const alone = await decodeAlone(pair.target.text(capacity), wanted, greedily)
      assert.equal(differenceOf(alone, found), null)
      assert.equal(alone.leads.length, alone.tokens.length)
      if (run.target_only_greedy) assert.deepEqual(alone.tokens, run.target_only_greedy)
      if (run.min_top1_top2_gap) near(Math.min(...alone.leads), run.min_top1_top2_gap, 1e-4)
      if (run.stop_token_ids === null) lengths.push(run.acceptance_lengths)
    }
    const { histogram, meanOfPrompts } = acceptanceOf(
      lengths,
      own[0].steps?.[0].target_argmax.length ?? 0,
    )
    near(meanOfPrompts, expected.mean_over_prompts_of_mean_per_prompt, 1e-12)
    histogram.forEach((count, i) => {
      assert.equal(count, expected.histogram_of_accept_len[`${i + 1}`])
    })
  })
}

for (const name of [
  'qwen3_untied_f32',
  'qwen3_untied_bf16',
  'qwen3_tied_bf16',
  'llama_rope3_bf16',
  'qwen2_bias_bf16',
]) {
  test(`decoding ${name}: a target alone says what it says in transformers`, async (t) => {
    const dir = needsShared(t, `reference/targets/${name}`)
    if (dir === undefined) return
    const { singles } = z
      .object({ singles: z.array(z.object({ input_ids: ids, greedy_40: ids })) })
      .parse(JSON.parse(readFileSync(join(dir, 'reference.json'), 'utf8')))
    const target = await decodingTarget(t, dir, [])
    for (const { input_ids: prompt, greedy_40: want } of singles) {
      const wanted = { prompt, maxNewTokens: 40, stopTokens: new Set<number>() }
      const found = await decodeAlone(target.text(prompt.length + 40), wanted, greedily)
      assert.deepEqual(found.tokens, want)
    }
  })
}

test('a recurrent state is that after the last token kept: drafts change no text', async () => {
  const wanted = { prompt: [1, 2, 3], maxNewTokens: 60, stopTokens: new Set<number>() }
  const alone = await decodeAlone(recurrentText('restores'), wanted, greedily)
  // It drafts what the target says, but for the last two tokens of a block.
  const drafted = async (afterKeep: AfterKeep) => {
    let said = 0
    const drafter = {
      blockSize: 5,
      draft: async (hidden: Float32Array) => {
        said += said === 0 ? 1 : hidden.length
        const right = alone.tokens.slice(said, said + 2)
        return [...right, ...Array(4 - right.length).fill((said * 7) % recurrentVocab)]
      },
    }
    return speculate({ target: recurrentText(afterKeep), drafter }, wanted, greedily)
  }
  const found = await drafted('restores')
  assert.ok(new Set(alone.tokens).size > 3, 'the text says something')
  assert.ok(found.steps.some(({ accepted }) => accepted >= 2))
  assert.ok(found.steps.some(({ accepted }) => accepted < 4))
  assert.equal(differenceOf(alone, found), null)
  assert.notDeepEqual((await drafted('forgets')).tokens, alone.tokens)
})
