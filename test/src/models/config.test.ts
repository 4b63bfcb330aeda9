import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTargetConfig } from '../../../src/models/config.ts'
import { goldenJson } from '../../support/golden.ts'
import { configPath, refusedBy } from '../../support/refused-config.ts'

const golden = (name: string) => ({ ...Object(goldenJson('targets', name, 'config.json')) })
const parse = (json: unknown) => parseTargetConfig(json, configPath)
const qwen3 = (change: object) => ({ ...golden('qwen3_tied_bf16'), ...change })
const llama = (change: object) => ({ ...golden('llama_rope3_bf16'), ...change })
const without = (json: object, key: string) =>
  Object.fromEntries(Object.entries(json).filter(([name]) => name !== key))

const refuses = refusedBy(parseTargetConfig)

test('target config: transformers 4 and 5 spell the same model two ways', () => {
  const { rope_theta, rope_scaling, torch_dtype, ...rest } = llama({})
  const five = { ...rest, dtype: torch_dtype, rope_parameters: { ...rope_scaling, rope_theta } }
  assert.deepEqual(parse(five), parse(llama({})))
  const scaling = {
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositions: 128,
  }
  assert.deepEqual(parse(five).rope, { theta: 500_000, scaling })
})

test('target config: the older key for the kind of rope is read', () => {
  const { rope_type, ...scaling } = llama({}).rope_scaling
  assert.deepEqual(
    parse(llama({ rope_scaling: { ...scaling, type: rope_type } })),
    parse(llama({})),
  )
})

test('target config: what a file may leave out follows from the rest', () => {
  assert.equal(parse(golden('llama_rope3_bf16')).headDim, 16)
  assert.equal(parse(golden('qwen3_tied_bf16')).headDim, 32)
  assert.equal(parse(llama({ head_dim: null })).headDim, 16)
  assert.equal(parse(without(llama({}), 'num_key_value_heads')).kvHeads, 4)
  const bare = without(without(qwen3({}), 'rope_theta'), 'rms_norm_eps')
  assert.deepEqual(parse(bare).rope, { theta: 10_000 })
  assert.equal(parse(bare).rmsNormEps, 1e-6)
})

test('target config: an architecture that is not supported is named, with those that are', () => {
  for (const found of ['Qwen3_5ForCausalLM', 'Qwen3_5ForConditionalGeneration', 'toString']) {
    refuses(
      qwen3({ architectures: [found] }),
      `found=${found}`,
      'LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM',
    )
  }
  refuses({ model_type: 'qwen3_5_text' }, 'found=qwen3_5_text')
  refuses({}, 'found=none named')
  refuses('a string', 'found=none named')
})

test('target config: what would change the numbers and is not built is refused by name', () => {
  refuses(qwen3({ hidden_act: 'gelu' }), 'hidden_act=gelu')
  refuses(qwen3({ attention_bias: true }), 'attention_bias=true')
  refuses(llama({ mlp_bias: true }), 'mlp_bias=true')
  refuses(qwen3({ quantization_config: { quant_method: 'fp8' } }), 'quantization_config=present')
  refuses(qwen3({ rope_scaling: { rope_type: 'yarn', factor: 4 } }), 'rope_type=yarn')
  refuses(qwen3({ rope_scaling: { type: 'linear', factor: 4 } }), 'rope_type=linear')
  refuses(qwen3({ rope_parameters: { rope_type: 'dynamic' } }), 'rope_type=dynamic')
  refuses(qwen3({ partial_rotary_factor: 0.5 }), 'partial_rotary_factor=0.5')
  refuses(qwen3({ layer_types: ['linear_attention'] }), 'layer_types=linear_attention')
  refuses(
    qwen3({ hidden_act: 'gelu', attention_bias: true }),
    'hidden_act=gelu',
    'attention_bias=true',
  )
})

test('target config: a sliding window matters only where a layer uses it', () => {
  const window = { sliding_window: 256 }
  const noTypes = without(qwen3({}), 'layer_types')
  assert.ok(parse({ ...noTypes, ...window, use_sliding_window: false }))
  assert.ok(parse({ ...noTypes, ...window, use_sliding_window: true, max_window_layers: 6 }))
  assert.ok(parse(qwen3({ ...window, use_sliding_window: true })))
  const used = { ...window, use_sliding_window: true, max_window_layers: 5 }
  refuses({ ...noTypes, ...used }, 'sliding_window=256')
  const types = ['full_attention', 'sliding_attention']
  refuses(qwen3({ ...window, layer_types: types }), 'sliding_window=256')
})

test('target config: fields that are missing or of the wrong kind are named together', () => {
  refuses(
    { ...without(qwen3({}), 'hidden_size'), vocab_size: '320', num_hidden_layers: 0 },
    'hidden_size: ',
    'vocab_size: ',
    'num_hidden_layers: ',
  )
  refuses(qwen3({ num_key_value_heads: 3 }), 'num_key_value_heads=3')
  refuses(llama({ hidden_size: 66 }), 'head_dim=16.5')
  refuses(llama({ rope_scaling: { rope_type: 'llama3', factor: 8 } }), 'low_freq_factor')
})
