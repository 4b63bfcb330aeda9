import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { configOf, weightsOf, writeCheckpoint } from '../../support/checkpoint.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { folder } from '../../support/commands/golden-job.ts'
import { golden } from '../../support/golden.ts'

/** `eval`, on the pair of test/golden/dflash that has something to say. */

const dir = folder({ after })
const target = golden('targets', 'qwen3_tied_f32')
const drafter = golden('dflash', 'drafter_b8_overfit')

function promptsOf(name: string, lists: readonly (readonly number[])[]): string {
  const path = join(dir, name)
  writeFileSync(path, lists.map((ids) => `${JSON.stringify({ input_ids: ids })}\n`).join(''))
  return path
}
const prompts = promptsOf('prompts.jsonl', [[53, 235, 238], [176, 261, 78], [1]])

const evaluate = (given: Readonly<Record<string, string>>, ...more: string[]) => {
  const options = { drafter, target, prompts, 'max-new-tokens': '20', ...given }
  const args = Object.entries(options).flatMap(([key, value]) => [`--${key}`, value])
  return draftsmith(['eval', ...args, ...more], { dir })
}

test('eval: says what a step brings, how fast, and that the text is the same', async () => {
  const ended = await evaluate({})
  assert.deepEqual([ended.code, ended.stderr], [0, ''])
  assertReadable(ended)
  assert.match(ended.stdout, /^τ \d\.\d\d tokens a step \(95 %: \d\.\d\d to \d\.\d\d\); mean of/)
  assert.match(ended.stdout, /^\d+ steps over 3 prompts, greedy, blocks of 8;/m)
  assert.match(ended.stdout, /^drafts that stood, by slot:( \d+ %){7}$/m)
  assert.match(ended.stdout, /tokens\/s with the drafter, [\d.]+ tokens\/s without, [\d.]+ times/)
  assert.match(ended.stdout, /^forward passes: target [\d.]+ ms a token, [\d.]+ ms for 8 tokens;/m)
  assert.match(ended.stdout, /^The target says the same .*: all 3 prompts; narrowest lead /m)
})

test('eval --json: one document; a limit; tokens that are drawn', async () => {
  const ended = await evaluate({ limit: '2', temperature: '0.9', seed: '3' }, '--json')
  assert.equal(ended.code, 0, ended.stderr)
  const found = JSON.parse(ended.stdout)
  assert.deepEqual([found.prompts, found.blockSize, found.temperature, found.seed], [2, 8, 0.9, 3])
  assert.equal(found.acceptance.histogram.length, 8)
  assert.deepEqual([found.leadMin, found.differences], [null, []])
  assert.ok(found.acceptance.tau >= 1 && found.drafted.tokensPerSecond > 0)
})

/** The drafter with other settings in its config. */
const changed = (name: string, settings: Record<string, unknown>) =>
  writeCheckpoint(join(dir, name), { ...configOf(drafter), ...settings }, weightsOf(drafter))

test('eval: drafters that do not go with the target, or with themselves', async () => {
  const dflash = { mask_token_id: 319, target_layer_ids: [0, 1, 2, 3, 4] }
  const [block, mask, layers] = await Promise.all([
    changed('block', { block_size: 1 }),
    changed('mask', { dflash_config: { ...dflash, mask_token_id: 320 } }),
    changed('layers', { dflash_config: { ...dflash, target_layer_ids: [0, 1, 2, 3, 6] } }),
  ])
  const [other, one, beyond, lacking, none] = await Promise.all([
    evaluate({ target: golden('targets', 'llama_rope3_bf16') }),
    evaluate({ drafter: block }),
    evaluate({ drafter: mask }),
    evaluate({ drafter: layers }),
    evaluate({ drafter: join(dir, 'none') }),
  ])
  assertRefused(other, { says: [/drafter belongs to another target/, /want=\d+, found=\d+/] })
  assertRefused(one, { says: [/block_size: want=2 or more, found=1/] })
  assertRefused(beyond, { says: [/mask_token_id: want=an id below vocab_size 320, found=320/] })
  assertRefused(lacking, { says: [/target_layer_ids: the target has 6 layers/] })
  assertRefused(none, { says: [/no drafter there/] })
})

test('eval: prompts that cannot be decoded, and options that make no sense', async () => {
  const [beyond, empty, long, usage, cold] = await Promise.all([
    evaluate({ prompts: promptsOf('beyond.jsonl', [[1], [2, 320]]) }, '--json'),
    evaluate({ prompts: promptsOf('empty.jsonl', []) }),
    evaluate({ 'max-new-tokens': '502' }),
    draftsmith(['eval', '--target', target], { dir }),
    evaluate({ temperature: '-1' }),
  ])
  assertRefused(beyond, { says: [/token that the target lacks.*line=2, want=ids below 320/] })
  assertRefused(empty, { says: [/no prompt in the file/] })
  assertRefused(long, {
    says: [/longer than the models were made for.*longest prompt=3, room for=2/],
  })
  assertRefused(usage, { says: [/eval without a store wants more. missing=--drafter, --prompts/] })
  assertRefused(cold, { says: [/--temperature.*number from 0/] })
})
