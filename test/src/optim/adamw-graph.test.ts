import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { Builder } from '../../../src/graph/builder.ts'
import { Graph } from '../../../src/graph/graph.ts'
import { Adamw, type AdamwSettings } from '../../../src/optim/adamw.ts'
import { adamwNodes } from '../../../src/optim/adamw-graph.ts'
import { FlatTensors, type NamedShape } from '../../../src/optim/flat.ts'
import { ratesOf } from '../../../src/optim/judge.ts'
import { runnable } from '../../support/run-graph.ts'
import { floatsOf, goldenTensors } from '../../support/training/cases.ts'
import { plainAdamw } from '../../support/training/plain-adamw.ts'

const regions = ['parameters', 'firstMoments', 'secondMoments'] as const

/** The graph of one step, which takes and leaves what is in `flat`, as `Adamw` does. */
async function byGraph(flat: FlatTensors, tensors: readonly NamedShape[], settings: AdamwSettings) {
  const graph = new Graph()
  const input = (name: string, shape: readonly number[]) =>
    graph.input(name, { dtype: 'F32', shape })
  const trained = tensors.map(({ name, shape }) => ({
    name,
    parameter: input(`parameters ${name}`, shape),
    gradient: input(`gradients ${name}`, shape),
    firstMoment: input(`firstMoments ${name}`, shape),
    secondMoment: input(`secondMoments ${name}`, shape),
  }))
  const [loss, rate, correction, keep] = ['loss', 'rate', 'correction', 'keep'].map((name) =>
    input(name, []),
  )
  const step = { loss, rate, correction, keep }
  const applied = adamwNodes(new Builder(graph, 'adamw'), trained, step, settings)
  for (const [i, { name }] of tensors.entries()) {
    const { parameter, firstMoment, secondMoment } = applied.tensors[i]
    graph.output(`parameters ${name}:new`, parameter)
    graph.output(`firstMoments ${name}:new`, firstMoment)
    graph.output(`secondMoments ${name}:new`, secondMoment)
  }
  graph.output('norm', applied.norm)
  graph.output('squares', applied.squares)
  const run = await runnable(graph)
  let count = 0
  return async (lr: number, loss: number) => {
    const rates = ratesOf(settings, lr, ++count)
    const scalars = { loss, ...rates }
    const feeds = Object.fromEntries([
      ...Object.entries(scalars).map(([name, number]) => [name, Float32Array.of(number)] as const),
      ...tensors.flatMap(({ name }) =>
        ([...regions, 'gradients'] as const).map(
          (region) => [`${region} ${name}`, flat.view(region, name)] as const,
        ),
      ),
    ])
    const found = await run(feeds)
    for (const { name } of tensors) {
      for (const region of regions) {
        flat.view(region, name).set(Float32Array.from(found[`${region} ${name}:new`], Number))
      }
    }
    return { norm: Number(found.norm[0]), squares: Array.from(found.squares, Number) }
  }
}

const shapes = [
  { name: 'a.weight', shape: [7, 9] },
  { name: 'a.norm.weight', shape: [1] },
  { name: 'b.weight', shape: [33] },
]

function randomFlat(seed: number): FlatTensors {
  const flat = new FlatTensors(shapes)
  const random = seededRandom(seed)
  for (const { view } of flat.places) {
    view('parameters').set(Array.from(view('parameters'), () => random() - 0.5))
  }
  return flat
}

function giveGradients(flat: FlatTensors, seed: number): void {
  const random = seededRandom(seed)
  for (const { view } of flat.places) {
    const sized = () => (random() - 0.5) * 10 ** (-4 * random())
    view('gradients').set(Array.from(view('gradients'), sized))
  }
}

test('adamw graph: twenty steps as in WebAssembly, tensors without decay too', async () => {
  for (const change of [
    { weightDecay: 0.1, clip: 0.5, decayExclude: ['norm.weight'] },
    { clip: 1000 },
    { betas: [0.9, 0.95] as const },
  ]) {
    const settings = { ...plainAdamw, ...change }
    const [flat, wanted] = [randomFlat(1), randomFlat(1)]
    const step = await byGraph(flat, shapes, settings)
    const adamw = new Adamw(wanted, settings)
    for (let t = 1; t <= 20; t++) {
      for (const each of [flat, wanted]) giveGradients(each, t)
      const { norm } = await step(1e-2 / t, 1)
      const want = adamw.step({ lr: 1e-2 / t, loss: 1 })
      assert.ok(want.state === 'applied')
      assert.ok(Math.abs(norm / want.gradientNorm - 1) < 1e-6)
    }
    for (const { name, view } of wanted.places) {
      for (const region of regions) {
        const found = flat.view(region, name)
        view(region).forEach((want, i) => {
          const off = Math.abs(found[i] - want)
          assert.ok(off < 1e-6 * (1e-3 + Math.abs(want)), `${region} ${name}[${i}]: off by ${off}`)
        })
      }
    }
  }
})

test('adamw graph: the first step gives the parameters of PyTorch', async () => {
  const file = goldenTensors('drafter_b8', 'model.safetensors')
  const gradients = goldenTensors('train_A_b8_gamma4_grads.safetensors')
  const tensors = [...file.tensors].map(([name, { shape }]) => ({ name, shape }))
  const flat = new FlatTensors(tensors)
  for (const { name, view } of flat.places) {
    view('parameters').set(floatsOf(file, name))
    view('gradients').set(floatsOf(gradients, name))
  }
  const step = await byGraph(flat, tensors, { ...plainAdamw, weightDecay: 0.01, clip: 1 })
  await step(6e-4, 8.04)
  const golden = goldenTensors('adamw_trainer_step1.safetensors')
  const errors = tensors.flatMap(({ name }) => {
    const found = flat.view('parameters', name)
    return Array.from(floatsOf(golden, name), (value, i) => Math.abs(value - found[i]))
  })
  // Where a gradient is near zero its rounding decides the step: see the reference's own figures.
  assert.ok(errors.every((error) => error < 3e-5))
  assert.ok(errors.reduce((a, b) => a + b) / errors.length < 1e-8)
})

test('adamw graph: a gradient or a loss that is not finite changes nothing', async () => {
  const flat = randomFlat(2)
  const step = await byGraph(flat, shapes, { ...plainAdamw, clip: 1, weightDecay: 0.1 })
  giveGradients(flat, 3)
  await step(1e-2, 1)
  const kept = () => flat.places.map(({ view }) => regions.map((region) => view(region).slice()))
  const before = kept()
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    await step(1e-2, bad)
    assert.deepEqual(kept(), before)
    flat.view('gradients', 'a.weight')[62] = bad
    const { norm, squares } = await step(1e-2, 1)
    assert.deepEqual(kept(), before)
    assert.ok(!Number.isFinite(norm))
    assert.deepEqual(squares.map(Number.isFinite), [false, true, true])
    giveGradients(flat, 3)
  }
  // A number, but its square is none: in WebAssembly such a step is skipped as well.
  flat.view('gradients', 'b.weight')[3] = 2e19
  const { squares } = await step(1e-2, 1)
  assert.deepEqual(kept(), before)
  assert.deepEqual(squares.map(Number.isFinite), [true, true, false])
})
