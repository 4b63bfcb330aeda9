/**
 * The engines of webgpu and of cuda, on cpu, beside that of cpu: graphs whose state is held, and a
 * loop within a graph. On webgpu itself: webgpu.test.ts.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Learner } from '../../../src/training/learner.ts'
import { countingBatch, tinyLearner } from '../../support/training/tiny-learner.ts'

const stepAt = (step: number, batches: number) =>
  Array.from({ length: batches }, (_, i) => {
    const plan = step * batches + i
    return countingBatch(plan, batches === 3 && i === 1 ? [plan % 39] : [plan % 39, 7])
  })

const engines = ['graph', 'loop'] as const

function pupils(t: TestContext, by: (typeof engines)[number]) {
  const options = { optimizer: { weightDecay: 0.1, decayExclude: ['norm.weight'] } }
  const [graph, wasm] = [tinyLearner({ by }, options), tinyLearner({}, options)]
  t.after(() => Promise.all([graph.release(), wasm.release()]))
  return { graph, wasm }
}

const regions = ['parameters', 'firstMoments', 'secondMoments'] as const

async function assertSame(found: Learner, wanted: Learner): Promise<void> {
  await found.read()
  assert.equal(found.updates, wanted.updates)
  for (const { name, view } of wanted.tensors.places) {
    for (const region of regions) {
      const numbers = found.tensors.view(region, name)
      const off = Math.hypot(...view(region).map((want, i) => want - numbers[i]))
      assert.ok(off <= 1e-5 * Math.hypot(...view(region)), `${region} ${name}: off by ${off}`)
    }
  }
}

for (const by of engines) {
  for (const [batches, words] of [
    [1, 'one batch'],
    [3, 'three batches of two shapes'],
    [4, 'four batches of one shape'],
  ] as const) {
    test(`engine by ${by}: the steps of WebAssembly, each of ${words}`, async (t) => {
      const { graph, wasm } = pupils(t, by)
      for (let step = 0; step < 4; step++) {
        const [found, wanted] = [
          await graph.step(stepAt(step, batches), 1e-3),
          await wasm.step(stepAt(step, batches), 1e-3),
        ]
        assert.ok(found?.state === 'applied' && wanted?.state === 'applied')
        assert.ok(Math.abs(found.loss / wanted.loss - 1) < 1e-6)
        assert.ok(Math.abs(found.gradientNorm / wanted.gradientNorm - 1) < 1e-5)
        assert.ok(Math.abs(found.clipCoefficient / wanted.clipCoefficient - 1) < 1e-5)
        assert.deepEqual(found.acceptance, wanted.acceptance)
      }
      await assertSame(graph, wasm)
      const judged = [graph, wasm].map((pupil) => pupil.judge(stepAt(100, 2)))
      const [found, wanted] = await Promise.all(judged)
      assert.ok(found && wanted && Math.abs(found.loss / wanted.loss - 1) < 1e-6)
      const { insideMs, transferMs } = graph.spent
      assert.ok(by === 'graph' ? transferMs && transferMs < insideMs : transferMs === null)
    })

    test(`engine by ${by}: looks and copies are no time of steps, each of ${words}`, async (t) => {
      for (const pupil of Object.values(pupils(t, by))) {
        await pupil.step(stepAt(0, batches), 1e-3)
        const before = pupil.spent
        await pupil.judge(stepAt(100, 2))
        await pupil.read()
        assert.deepEqual(pupil.spent, before)
        await pupil.step(stepAt(1, batches), 1e-3)
        const { insideMs, stepsMs } = pupil.spent
        assert.ok(insideMs > before.insideMs && insideMs <= stepsMs)
      }
    })
  }

  test(`engine by ${by}: what is not finite changes nothing, and training goes on`, async (t) => {
    const { graph, wasm } = pupils(t, by)
    for (const batches of [1, 2]) {
      const [first, ...more] = stepAt(0, batches)
      const hidden = Uint16Array.from(first.hidden)
      hidden[0] = 0x7fc0 // no number, in bf16
      const bad = [{ ...first, hidden }, ...more]
      for (const pupil of [graph, wasm]) {
        assert.equal((await pupil.step(bad, 1e-3))?.state, 'skipped')
        assert.equal((await pupil.step(stepAt(1, batches), 1e-3))?.state, 'applied')
      }
    }
    await assertSame(graph, wasm)
  })

  test(`engine by ${by}: a rate that float32 cannot bear is a skipped step`, async (t) => {
    const { graph, wasm } = pupils(t, by)
    for (const batches of [1, 3, 4]) {
      for (const pupil of [graph, wasm]) {
        const wild = await pupil.step(stepAt(0, batches), 1e38)
        assert.ok(wild?.state === 'skipped' && wild.tensors.length === 0)
        assert.equal((await pupil.step(stepAt(1, batches), 1e-3))?.state, 'applied')
      }
      await assertSame(graph, wasm)
    }
  })

  test(`engine by ${by}: what is written after a step is what it goes on from`, async (t) => {
    const { graph, wasm } = pupils(t, by)
    for (const pupil of [graph, wasm]) await pupil.step(stepAt(0, 1), 1e-3)
    await graph.read()
    const kept = new Map(
      graph.tensors.places.map(({ name, view }) => [name, view('parameters').slice()]),
    )
    await graph.step(stepAt(1, 1), 1e-3)
    for (const pupil of [graph, wasm]) {
      pupil.tensors.fill('parameters', kept)
      for (const { view } of pupil.tensors.places) {
        view('firstMoments').fill(0)
        view('secondMoments').fill(0)
      }
      pupil.updates = 5
      await pupil.step(stepAt(2, 1), 1e-3)
    }
    assert.equal(graph.updates, 6)
    await assertSame(graph, wasm)
  })
}

test('engine by graph: a read while a step is computed is of a whole step', async (t) => {
  const { graph } = pupils(t, 'graph')
  await graph.step(stepAt(0, 3), 1e-3)
  const stepped = graph.step(stepAt(1, 3), 1e-3)
  await graph.read()
  assert.equal(graph.updates, 2)
  const found = graph.tensors.places.map(({ view }) => view('parameters').slice())
  await stepped
  await graph.read()
  assert.deepEqual(
    graph.tensors.places.map(({ view }) => view('parameters').slice()),
    found,
  )
})
