import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDrafterConfig } from '../../../src/models/drafter-config.ts'
import { drafterConfigJson } from '../../../src/models/drafter-config-json.ts'
import { goldenJson } from '../../support/golden.ts'
import { configPath, refusedBy } from '../../support/refused-config.ts'

const published = (name: string) => ({ ...Object(goldenJson('dflash', name, 'config.json')) })
const parse = (json: unknown) => parseDrafterConfig(json, configPath)
const b8 = (change: object) => ({ ...published('drafter_b8'), ...change })
const dflash = (change: object) =>
  b8({ dflash_config: { ...published('drafter_b8').dflash_config, ...change } })

const refuses = refusedBy(parseDrafterConfig)

const names = [
  'drafter_b8',
  'drafter_b16',
  'drafter_b8_sliding',
  'drafter_b8_overfit',
  'drafter_b16_overfit',
]

test('drafter config: what is published is read, and written again as it was', () => {
  for (const name of names) {
    const { transformers_version, ...json } = published(name)
    assert.deepEqual(drafterConfigJson(parse(json), 'float32'), json, name)
  }
  const draft = b8({ draft_vocab_size: 128 })
  const scaling = {
    factor: 8,
    high_freq_factor: 4,
    low_freq_factor: 1,
    original_max_position_embeddings: 128,
    rope_type: 'llama3',
  }
  for (const json of [draft, b8({ rope_scaling: scaling })]) {
    assert.deepEqual(parse(drafterConfigJson(parse(json), 'bfloat16')), parse(json))
  }
  assert.deepEqual(
    drafterConfigJson(parse(b8({ rope_scaling: scaling })), 'float32').rope_scaling,
    {
      ...scaling,
    },
  )
})

test('drafter config: sizes, layers and window of a sliding drafter', () => {
  const config = parse(published('drafter_b8_sliding'))
  assert.deepEqual(config, {
    layers: 3,
    hiddenSize: 64,
    intermediateSize: 96,
    vocabSize: 320,
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    rmsNormEps: 1e-6,
    rope: { theta: 1_000_000 },
    maxPositions: 512,
    blockSize: 8,
    maskTokenId: 319,
    targetLayerIds: [0, 1, 2, 3, 4],
    targetLayers: 6,
    layerTypes: ['sliding_attention', 'sliding_attention', 'full_attention'],
    slidingWindow: 12,
    draftVocabSize: null,
  })
})

test('drafter config: the block size stands at the top or beside the mask token', () => {
  const { block_size, ...rest } = b8({})
  const moved = { ...rest, dflash_config: { ...rest.dflash_config, block_size } }
  assert.deepEqual(parse(moved), parse(b8({})))
  refuses(rest, 'dflash_config.block_size: is missing')
  refuses({ ...rest, dflash_config: null }, 'block_size', 'mask_token_id', 'target_layer_ids')
})

test('drafter config: two values for one thing are refused, both named', () => {
  assert.deepEqual(parse(dflash({ block_size: 8 })), parse(b8({})))
  refuses(
    { ...dflash({ block_size: 4 }), mask_token_id: 5, target_layer_ids: [0, 1] },
    'block_size: 8 at the top, 4 in dflash_config',
    'mask_token_id: 5 at the top, 319 in dflash_config',
    'target_layer_ids: 0,1 at the top, 0,1,2,3,4 in dflash_config',
  )
})

test('drafter config: without layer_types, the layers that slide follow from the window', () => {
  const { layer_types, ...rest } = b8({ sliding_window: 12, max_window_layers: 1 })
  assert.equal(parse(rest).slidingWindow, null)
  const slides = parse({ ...rest, use_sliding_window: true })
  const full = 'full_attention'
  assert.deepEqual(slides.layerTypes, [full, 'sliding_attention', 'sliding_attention'])
  assert.equal(slides.slidingWindow, 12)
})

test('drafter config: values that cannot go together are refused, all at once', () => {
  refuses(
    { ...dflash({ mask_token_id: 320, target_layer_ids: [0, 6] }), block_size: 1 },
    'block_size: want=2 or more, found=1',
    'mask_token_id: want=an id below vocab_size 320, found=320',
    'target_layer_ids: the target has 6 layers, found=[0, 6]',
  )
  refuses(dflash({ target_layer_ids: [1, 1] }), 'want=different ids, found=[1, 1]')
  refuses(dflash({ target_layer_ids: [] }), 'dflash_config.target_layer_ids')
  refuses(dflash({ mask_token_id: -1 }), 'dflash_config.mask_token_id')
  refuses(b8({ head_dim: 15 }), 'head_dim: want=an even number, found=15')
  refuses(b8({ num_key_value_heads: 3 }), 'num_key_value_heads: 4 heads do not share 3')
  refuses(b8({ layer_types: ['full_attention'] }), 'layer_types: want=one for each of 3')
  const slide = ['full_attention', 'full_attention', 'sliding_attention']
  refuses(b8({ layer_types: slide }), 'sliding_window: layers slide, and it is none')
  refuses(b8({ draft_vocab_size: 321 }), 'draft_vocab_size: want=at most vocab_size 320')
  refuses(b8({ hidden_size: '64', num_target_layers: 0 }), 'hidden_size: ', 'num_target_layers: ')
  refuses('a string')
})

test('drafter config: what would change the numbers and is not built is refused by name', () => {
  refuses(b8({ model_type: 'gpt_oss' }), 'model_type=gpt_oss')
  refuses(
    b8({ attention_bias: true, hidden_act: 'gelu' }),
    'attention_bias=true',
    'hidden_act=gelu',
  )
  refuses(b8({ rope_scaling: { rope_type: 'yarn', factor: 4 } }), 'rope_type=yarn')
  refuses(b8({ quantization_config: { quant_method: 'fp8' } }), 'quantization_config=present')
})
