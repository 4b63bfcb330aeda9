/** What each slot sees, against SpecForge's masks: test/golden/dflash. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph } from '../../../src/graph/graph.ts'
import type { LayerType } from '../../../src/models/drafter-config.ts'
import { elements } from '../../../src/tensor/tensor.ts'
import { BlockRows } from '../../../src/training/block-rows.ts'
import { type Numbers, runnable } from '../../support/run-graph.ts'
import {
  caseNames,
  integersOf,
  type TrainingCase,
  tensorOf,
  trainingCase,
} from '../../support/training/cases.ts'

/** The masks of a type of layer, run; `block` is undefined where a block sees all of itself. */
async function masksOf(
  { config, batch, blocks }: TrainingCase,
  type: LayerType,
  anchors: BigInt64Array,
): Promise<{ readonly context: Float32Array; readonly block: Float32Array | undefined }> {
  const graph = new Graph()
  const shape = { ...batch.shape, blocks }
  const input = graph.input('anchors', { dtype: 'I64', shape: [shape.rows, blocks] })
  const { context, block } = new BlockRows(graph, { anchors: input, shape, config }).masks(type)
  graph.output('context', context)
  if (block) graph.output('block', block)
  const found = await (await runnable(graph))({ anchors })
  const floats = (numbers: Numbers | undefined) =>
    numbers instanceof Float32Array ? numbers : undefined
  return { context: floats(found.context) ?? new Float32Array(), block: floats(found.block) }
}

async function check(at: TrainingCase, type: LayerType, name: string): Promise<void> {
  const { batch, blocks, config, drawn } = at
  const { rows, tokens } = batch.shape
  const slots = config.blockSize
  const { context, block } = await masksOf(at, type, integersOf(at.file, 'anchors'))
  const rowsOfContext = context.length / (rows * blocks * tokens)
  const want = elements(tensorOf(at.file, name), 'BOOL')
  const width = tokens + blocks * slots
  for (let query = 0; query < rows * blocks * slots; query++) {
    const [row, inRow] = [Math.floor(query / (blocks * slots)), query % (blocks * slots)]
    const [n, slot] = [Math.floor(inRow / slots), inRow % slots]
    // Padding: theirs sees nothing, ours is computed without weight.
    if (n >= drawn[row].length) continue
    const line = (row * blocks + n) * rowsOfContext + (rowsOfContext === 1 ? 0 : slot)
    for (let key = 0; key < width; key++) {
      const own = key - tokens - n * slots
      const seen: boolean =
        key < tokens
          ? context[line * tokens + key] === 0
          : own >= 0 && own < slots && (block === undefined || block[slot * slots + own] === 0)
      assert.equal(seen, want[query * width + key] === 1, `${at.name}: query ${query}, key ${key}`)
    }
  }
}

for (const name of caseNames) {
  test(`what slots see, ${name}: context before the anchor, own block, no other`, async () => {
    const at = trainingCase(name)
    const { layerTypes } = at.config
    if (layerTypes.includes('full_attention')) await check(at, 'full_attention', 'mask_full')
    if (layerTypes.includes('sliding_attention')) {
      await check(at, 'sliding_attention', 'mask_sliding')
    }
  })
}

test('what slots see: an anchor at position 3 has the context 0, 1, 2 (B09)', async () => {
  const at = trainingCase('A_b8_gamma4')
  const anchors = BigInt64Array.of(3n, 3n, 3n, 3n)
  const { context } = await masksOf(at, 'full_attention', anchors)
  const seen = Array.from(context, (mask) => mask === 0).slice(0, at.batch.shape.tokens)
  assert.deepEqual(
    seen.flatMap((visible, position) => (visible ? [position] : [])),
    [0, 1, 2],
  )
})
