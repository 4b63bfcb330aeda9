/**
 * Learning from the target's own distribution, against speculators' losses: test/golden/dflash.
 * They divide by the supervised slots, decay or not.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { layBlocks, normalizeWeights } from '../../../src/training/blocks.ts'
import { lossGraph } from '../../../src/training/loss-graph.ts'
import { golden, goldenJson } from '../../support/golden.ts'
import { type Numbers, runnable } from '../../support/run-graph.ts'
import { openRun } from '../../support/target-run.ts'
import { drafterOf, rowOf, type TrainingCase, trainingCase } from '../../support/training/cases.ts'
import { goldenFrozen } from '../../support/training/frozen.ts'

const speculators = z.object({
  speculators: z.object({
    cases: z.record(
      z.string(),
      z.union([z.string(), z.array(z.object({ losses: z.record(z.string(), z.number()) }))]),
    ),
  }),
})

function lossesOf(name: string) {
  const { cases } = speculators.parse(goldenJson('dflash', 'expected.json')).speculators
  const found = cases[name]
  assert.ok(Array.isArray(found))
  return found.map(({ losses }) => losses)
}

/** The states after the target's last norm, of one row. */
async function finalStates(t: TestContext, at: TrainingCase): Promise<Float32Array> {
  const run = await openRun(t, golden('targets', 'qwen3_tied_f32'), { captureFinal: true })
  const [states] = await run([Array.from(at.batch.tokenIds, Number)])
  const final = states.get('final')
  assert.ok(final instanceof Float32Array)
  return final
}

async function lossOf(
  at: TrainingCase,
  final: Float32Array,
  distillation: { readonly weight: number; readonly temperature: number },
): Promise<Record<string, Numbers>> {
  const { batch, drawn, blocks, config, expected } = at
  const { gamma } = expected
  const laid = layBlocks(batch, drawn, {
    blocks,
    blockSize: config.blockSize,
    gamma,
    draftVocab: null,
  })
  normalizeWeights([laid], 'supervised')
  const graph = lossGraph(config, {
    shape: { ...batch.shape, blocks },
    dtype: 'f32',
    tiedEmbeddings: true,
    frozen: 'inputs',
    chunkBytes: 2 ** 14,
    recompute: false,
    learns: false,
    distillation,
  })
  const { anchors, labels, weights } = laid
  return (await runnable(graph))({
    ...drafterOf(at),
    ...goldenFrozen(),
    ...{ anchors, labels, weights, final, hidden: at.hidden },
  })
}

for (const name of ['A_b8_gamma4', 'D_b8_overfit_gamma7']) {
  test(`distillation, ${name}: KL from the target agrees with speculators’`, async (t) => {
    for (const [row, losses] of lossesOf(name).entries()) {
      const at = rowOf(trainingCase(name), row)
      const final = await finalStates(t, at)
      const want = losses['kl_div/fixed-exp-decay']
      const { loss } = await lossOf(at, final, { weight: 1, temperature: 1 })
      assert.ok(Math.abs(Number(loss[0]) - want) <= 1e-5 * want, `want=${want}, found=${loss[0]}`)
    }
  })
}

test('distillation: with no share of the loss, the labels’ loss remains', async (t) => {
  // Its text is the target's own, so speculators' labels are the data's.
  for (const [row, losses] of lossesOf('D_b8_overfit_gamma7').entries()) {
    const at = rowOf(trainingCase('D_b8_overfit_gamma7'), row)
    const final = await finalStates(t, at)
    const want = losses['ce/fixed-exp-decay']
    const { loss } = await lossOf(at, final, { weight: 0, temperature: 2 })
    assert.ok(Math.abs(Number(loss[0]) - want) <= 1e-5 * want, `want=${want}, found=${loss[0]}`)
  }
})

test('distillation: both losses are weighed, and temperature softens the target’s', async (t) => {
  const at = rowOf(trainingCase('D_b8_overfit_gamma7'), 0)
  const final = await finalStates(t, at)
  const loss = async (weight: number, temperature: number) =>
    Number((await lossOf(at, final, { weight, temperature })).loss[0])
  const [labels, warm, both] = [await loss(0, 2), await loss(1, 2), await loss(0.25, 2)]
  assert.ok(Math.abs(both - (0.75 * labels + 0.25 * warm)) < 1e-5)
  assert.ok(warm / 4 < (await loss(1, 1)))
})
