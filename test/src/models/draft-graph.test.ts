/** The drafter's forward pass against z-lab's and SpecForge's: test/golden/dflash. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { draftGraph } from '../../../src/models/draft-graph.ts'
import { openDrafter } from '../../../src/models/drafter.ts'
import { openTarget } from '../../../src/models/target.ts'
import type { Safetensors } from '../../../src/safetensors/read.ts'
import type { Feeds } from '../../../src/session/feed.ts'
import { prepareModel } from '../../../src/session/prepare.ts'
import { openSession } from '../../../src/session/session.ts'
import { golden } from '../../support/golden.ts'
import { maxAbsDiff, scratch } from '../../support/target-run.ts'
import {
  caseNames,
  floatsOf,
  goldenTensors,
  integersOf,
  tensorOf,
  trainingCase,
} from '../../support/training/cases.ts'

const tolerance = 1e-4

interface Rows {
  readonly key: Float32Array
  readonly value: Float32Array
}

/** What came out of one block, with what is inside beside what the graph gives. */
interface Drafted {
  readonly out: (name: string) => Float32Array
  readonly kept: readonly Rows[]
}

type Draft = (hidden: Float32Array, anchor: bigint, past?: readonly Rows[]) => Promise<Drafted>

async function openDraft(t: TestContext, name: string): Promise<Draft> {
  const drafter = await openDrafter(golden('dflash', name))
  const target = await openTarget(golden('targets', 'qwen3_tied_f32'))
  const graph = draftGraph(drafter, target)
  const layers = Array.from({ length: drafter.config.layers }, (_, i) => i)
  const inside = {
    context_feature: 'hidden_norm.norm',
    hidden: 'norm.norm',
    ...Object.fromEntries(layers.map((i) => [`layer_${i}_output`, `layers.${i}.output`])),
  }
  for (const [output, node] of Object.entries(inside)) {
    const found = graph.nodes.find((candidate) => candidate.name === node)
    assert.ok(found, node)
    graph.output(output, found.outputs[0])
  }
  const model = await prepareModel(graph, await scratch(t), () => {})
  const session = await openSession(model, { device: 'cpu', threads: 2 })
  t.after(() => session.release())
  const width = drafter.config.kvHeads * drafter.config.headDim
  const wide = drafter.config.targetLayerIds.length * drafter.config.hiddenSize
  return async (hidden, anchor, past) => {
    const none = { key: new Float32Array(), value: new Float32Array() }
    const rows = (data: Float32Array, columns: number) =>
      ({ dtype: 'F32', shape: [data.length / columns, columns], data }) as const
    const feeds: Record<string, Feeds[string]> = {
      context: rows(hidden, wide),
      anchor: { dtype: 'I64', shape: [1], data: BigInt64Array.of(anchor) },
    }
    for (const i of layers) {
      feeds[`past_key_${i}`] = rows((past?.[i] ?? none).key, width)
      feeds[`past_value_${i}`] = rows((past?.[i] ?? none).value, width)
    }
    const results = await session.run(feeds)
    const out = (output: string) => {
      const { data } = results[output]
      assert.ok(data instanceof Float32Array)
      return data
    }
    return { out, kept: layers.map((i) => ({ key: out(`key_${i}`), value: out(`value_${i}`) })) }
  }
}

function assertNear(found: Float32Array, want: Float32Array, what: string): number {
  const diff = maxAbsDiff(found, want)
  assert.ok(diff <= tolerance, `${what} is off by ${diff}`)
  return diff
}

for (const name of ['drafter_b8', 'drafter_b16']) {
  test(`${name}: every layer and the logits agree with z-lab’s`, async (t) => {
    const draft = await openDraft(t, name)
    const file = goldenTensors(`forward_${name}.safetensors`)
    const layers = name === 'drafter_b8' ? 3 : 2
    const diffs: number[] = []
    for (const tag of ['ctx1', 'ctx7', 'ctx30']) {
      const want = (tensor: string) => floatsOf(file, `${tag}.${tensor}`)
      const [anchor] = integersOf(file, `${tag}.block_ids`)
      const { out } = await draft(want('target_hidden'), anchor)
      const outputs = Array.from({ length: layers }, (_, i) => `layer_${i}_output`)
      for (const output of ['context_feature', ...outputs, 'hidden']) {
        diffs.push(assertNear(out(output), want(output), `${tag}.${output}`))
      }
      const [, vocab] = tensorOf(file, `${tag}.logits`).shape
      diffs.push(assertNear(out('logits'), want('logits').subarray(vocab), `${tag}.logits`))
    }
    t.diagnostic(`off by ${Math.max(...diffs).toExponential(1)} at most`)
  })

  test(`${name}: kept keys and values give what the whole context gives`, async (t) => {
    const draft = await openDraft(t, name)
    const file = goldenTensors(`forward_${name}.safetensors`)
    await checkCached(draft, file)
  })
}

async function checkCached(draft: Draft, file: Safetensors): Promise<void> {
  const hidden = floatsOf(file, 'cached.target_hidden')
  const ids = integersOf(file, 'cached.ids')
  const first = 9
  const wide = hidden.length / (first + 3)
  const one = await draft(hidden.subarray(0, first * wide), ids[first])
  assertNear(one.out('hidden'), floatsOf(file, 'cached.first_block_hidden'), 'first block')
  const [heads, , headDim] = tensorOf(file, 'cached.key_after_crop_layer0').shape
  // Theirs is [heads, positions, headDim].
  const key = Float32Array.from({ length: first * heads * headDim }, (_, i) => {
    const [head, position] = [Math.floor(i / headDim / first), Math.floor(i / headDim) % first]
    return one.kept[0].key[(position * heads + head) * headDim + (i % headDim)]
  })
  assertNear(key, floatsOf(file, 'cached.key_after_crop_layer0'), 'keys of layer 0')
  const two = await draft(hidden.subarray(first * wide), ids[first + 3], one.kept)
  assertNear(two.out('hidden'), floatsOf(file, 'cached.second_block_hidden'), 'second block')
  const whole = await draft(hidden, ids[first + 3])
  assertNear(two.out('logits'), whole.out('logits'), 'logits of the second block')
}

for (const name of caseNames) {
  test(`draft of ${name}: each block alone agrees with training, its window too`, async (t) => {
    const { config, hidden, batch, drawn, blocks, file, expected } = trainingCase(name)
    const draft = await openDraft(t, expected.drafter)
    const [tokens, wide] = [batch.shape.tokens, hidden.length / batch.tokenIds.length]
    const want = floatsOf(file, 'draft_hidden')
    const length = config.blockSize * config.hiddenSize
    for (const [row, anchors] of drawn.entries()) {
      for (const [n, anchor] of anchors.entries()) {
        const from = row * tokens
        const context = hidden.subarray(from * wide, (from + anchor) * wide)
        const { out } = await draft(context, batch.tokenIds[from + anchor])
        const at = (row * blocks + n) * length
        assertNear(out('hidden'), want.subarray(at, at + length), `row ${row}, block ${n}`)
      }
    }
  })
}

test('draft graph: a drafter of another target is refused', async () => {
  const drafter = await openDrafter(golden('dflash', 'drafter_b8'))
  const target = await openTarget(golden('targets', 'qwen3_tied_bf16'))
  const other = { ...target, vocabSize: 322 }
  assert.throws(
    () => draftGraph(drafter, other),
    (error) => isFailure(error, 'invalid') && error.message.includes('vocab_size: want=322'),
  )
})
