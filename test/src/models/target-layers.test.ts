import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { isFailure } from '../../../src/failure.ts'
import { targetLayerIds } from '../../../src/models/target-layers.ts'
import { goldenJson } from '../../support/golden.ts'

const casesSchema = z.array(
  z.object({
    num_target_layers: z.int(),
    num_selected: z.int(),
    layer_ids: z.array(z.int()),
  }),
)

test('target layers: as three public code bases choose them, repeated ids refused', () => {
  const cases = casesSchema.parse(goldenJson('targets', 'target_layer_ids.json'))
  for (const { num_target_layers: layers, num_selected: count, layer_ids } of cases) {
    if (new Set(layer_ids).size === count) {
      assert.deepEqual(targetLayerIds({ layers, count }), layer_ids)
    } else {
      assert.throws(
        () => targetLayerIds({ layers, count }),
        (error) => isFailure(error, 'invalid') && /target\.layers/.test(error.remedy ?? ''),
      )
    }
  }
})

test('target layers: the published choices for 64 and 36 layers', () => {
  assert.deepEqual(targetLayerIds({ layers: 64, count: 5 }), [1, 16, 31, 46, 61])
  assert.deepEqual(targetLayerIds({ layers: 36, count: 5 }), [1, 9, 17, 25, 33])
})

test('target layers: a target without a third layer from the end has no choice to offer', () => {
  for (const [layers, count] of [
    [2, 2],
    [3, 2],
    [4, 5],
    [8, 0],
  ]) {
    assert.throws(
      () => targetLayerIds({ layers, count }),
      (error) => isFailure(error, 'invalid'),
    )
  }
})
