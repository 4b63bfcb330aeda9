import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeptEvaluation } from '../../../src/checkpoint/evaluation.ts'
import { type CardFacts, drafterCard } from '../../../src/export/card.ts'
import { drafterConfig } from '../../support/training/cases.ts'

/** The card says whose drafter it is, how it came about, and what is to be known of its use. */

const facts = (drafter: string): CardFacts => ({
  config: drafterConfig(drafter),
  dtype: 'bf16',
  target: { name: 'Qwen3-8B', fingerprint: 'f00d' },
  data: { fingerprint: 'cafe', split: { samples: 914_000, heldOut: 18_280 } },
  training: {
    checkpoint: '00001200-w',
    step: 1200,
    samples: 5_000,
    tokens: 1_234_567,
    heldOutLoss: 1.25,
    tau: 3.456,
    evaluation: null,
    settings: { lr: 6e-4 },
  },
})

const evaluation: KeptEvaluation = {
  evaluatedAt: '2026-12-01T00:00:00.000Z',
  ...{ tau: 2.345, interval: [2.1, 2.6], meanOfPrompts: 2.4, prompts: 1_200, steps: 9_000 },
  ...{ promptsFrom: 'held-out samples', maxNewTokens: 256, temperature: 0, seed: 0, changed: 0 },
}

test('card: target, data, steps, acceptance length, settings, and how it is served', () => {
  const card = drafterCard(facts('drafter_b16'))
  for (const words of [
    '# DFlash drafter for Qwen3-8B',
    'fingerprint `f00d`',
    '| Looks at layers | 0, 1, 2, 3, 4 (from 0, their outputs) |',
    '| Data | dataset `cafe`: 914,000 samples, of them 18,280 held out |',
    '| Trained | 1,200 steps, checkpoint `00001200-w` |',
    '1,234,567 tokens',
    '| Acceptance length τ | not measured: nothing was decoded with this checkpoint |',
    '| Simulated τ | 3.46 (no text was decoded; held-out samples) |',
    '| Loss | 1.2500 (held-out samples) |',
    '"lr": 0.0006',
    '"num_speculative_tokens": 15}',
    '--speculative-num-draft-tokens 16',
  ]) {
    assert.ok(card.includes(words), `${words}\n${card}`)
  }
  assert.doesNotMatch(card, /Limits/)
})

test('card: what was not measured, and what is not known, is said to be so', () => {
  const { training, ...rest } = facts('drafter_b8')
  const card = drafterCard({
    ...rest,
    data: { fingerprint: null, split: null },
    training: { ...training, tau: null, heldOutLoss: null, settings: null },
  })
  assert.match(card, /Simulated τ \| not measured/)
  assert.match(card, /Loss \| not measured/)
  assert.match(card, /Data \| dataset not known \|/)
  assert.doesNotMatch(card, /Trained with/)
})

test('card: what decoding brought, over which prompts, and how', () => {
  const { training, ...rest } = facts('drafter_b16')
  const of = (other: Partial<KeptEvaluation> = {}): string =>
    drafterCard({ ...rest, training: { ...training, evaluation: { ...evaluation, ...other } } })
  const row = (card: string) => card.split('\n').find((line) => line.startsWith('| Acceptance'))
  assert.equal(
    row(of()),
    '| Acceptance length τ | 2.35 (95 % over prompts: 2.10 to 2.60): 1,200 prompts from held-out ' +
      'samples, decoded in float32, greedy, at most 256 tokens each |',
  )
  assert.match(of(), /Simulated τ \| 3\.46/)
  assert.equal(
    row(of({ interval: null, temperature: 0.7, promptsFrom: 'a file', changed: 2 })),
    '| Acceptance length τ | 2.35: 1,200 prompts from a file, decoded in float32, temperature ' +
      '0.7, at most 256 tokens each; 2 texts were not the target’s own |',
  )
})

test('card: of a draft vocabulary it says who knows of it', () => {
  const { config, ...rest } = facts('drafter_b8')
  const card = drafterCard({ ...rest, config: { ...config, draftVocabSize: 256 } })
  assert.match(card, /drafts 256 of 320 tokens. vLLM reads which; z-lab’s code and SGLang do not/)
})

test('card: of a sliding drafter it warns that z-lab’s own code ignores the window', () => {
  const card = drafterCard(facts('drafter_b8_sliding'))
  assert.match(card, /Sliding layers: 2 of 3. Each sees 12 positions/)
  assert.match(card, /z-lab’s Transformers code ignores the window/)
  assert.match(card, /VLLM_USE_V2_MODEL_RUNNER=1/)
})
