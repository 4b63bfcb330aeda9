import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { Adamw } from '../../../src/optim/adamw.ts'
import { FlatTensors, type Region } from '../../../src/optim/flat.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { float32Elements } from '../../../src/tensor/tensor.ts'
import { golden, goldenJson } from '../../support/golden.ts'
import { plainAdamw } from '../../support/training/plain-adamw.ts'

function goldenTensors(...path: string[]): Map<string, { shape: number[]; data: Float32Array }> {
  const file = golden('dflash', ...path)
  const { tensors } = readSafetensors(readFileSync(file), file)
  return new Map(
    [...tensors].map(([name, found]) => [
      name,
      { shape: [...found.shape], data: float32Elements(found) },
    ]),
  )
}

/** The drafter of the reference and its gradients in the first step. */
function goldenStep(): FlatTensors {
  const parameters = goldenTensors('drafter_b8', 'model.safetensors')
  const gradients = goldenTensors('train_A_b8_gamma4_grads.safetensors')
  const flat = new FlatTensors([...parameters].map(([name, { shape }]) => ({ name, shape })))
  flat.fill('parameters', new Map([...parameters].map(([name, { data }]) => [name, data])))
  flat.fill('gradients', new Map([...gradients].map(([name, { data }]) => [name, data])))
  return flat
}

test('adamw: the first step gives the parameters of PyTorch', () => {
  const flat = goldenStep()
  const adamw = new Adamw(flat, { ...plainAdamw, weightDecay: 0.01, clip: 1 })
  const stepped = adamw.step({ lr: 6e-4, loss: 8.04 })
  assert.ok(stepped.state === 'applied')
  const { adamw_trainer: want } = goldenJson('dflash', 'expected.json') as {
    adamw_trainer: { log: { grad_norm_before_clip: number; clip_coefficient: number }[] }
  }
  assert.ok(Math.abs(stepped.gradientNorm / want.log[0].grad_norm_before_clip - 1) < 1e-6)
  assert.ok(Math.abs(stepped.clipCoefficient / want.log[0].clip_coefficient - 1) < 1e-6)
  const errors = [...goldenTensors('adamw_trainer_step1.safetensors')].flatMap(([name, tensor]) => {
    const found = flat.view('parameters', name)
    assert.equal(found.length, tensor.data.length)
    return [...tensor.data].map((value, i) => Math.abs(value - found[i]))
  })
  // Where a gradient is near zero its rounding decides the step: see the reference's own figures.
  assert.ok(errors.every((error) => error < 3e-5))
  assert.ok(errors.reduce((a, b) => a + b) / errors.length < 1e-8)
})

/** What AdamW is, in float64 and nothing else. */
function float64Step(
  state: Record<'p' | 'm' | 'v', Float64Array>,
  gradient: Float32Array,
  { t, lr, decay, scale }: { t: number; lr: number; decay: number; scale: number },
): void {
  const [beta1, beta2] = plainAdamw.betas
  for (let i = 0; i < gradient.length; i++) {
    const g = gradient[i] * scale
    state.m[i] = beta1 * state.m[i] + (1 - beta1) * g
    state.v[i] = beta2 * state.v[i] + (1 - beta2) * g * g
    const correctedM = state.m[i] / (1 - beta1 ** t)
    const correctedV = state.v[i] / (1 - beta2 ** t)
    state.p[i] *= 1 - lr * decay
    state.p[i] -= (lr * correctedM) / (Math.sqrt(correctedV) + plainAdamw.epsilon)
  }
}

const shapes = [
  { name: 'a.weight', shape: [7, 9] },
  { name: 'a.norm.weight', shape: [1] },
  { name: 'b.weight', shape: [33] },
]

/** Numbers of every sign and of sizes from 1e-4 to 1. */
const randoms = (length: number, random: () => number): Float32Array =>
  Float32Array.from({ length }, () => (random() - 0.5) * 10 ** (-4 * random()))

function randomFlat(seed: number, bytesMax?: number): FlatTensors {
  const flat = new FlatTensors(shapes, bytesMax)
  const random = seededRandom(seed)
  for (const { view } of flat.places) {
    for (const region of ['parameters', 'gradients'] as const) {
      view(region).set(randoms(view(region).length, random))
    }
  }
  return flat
}

test('adamw: twenty steps agree with float64, tensors without decay too', () => {
  const flat = randomFlat(1)
  const settings = { ...plainAdamw, weightDecay: 0.1, clip: 0.5, decayExclude: ['norm.weight'] }
  const adamw = new Adamw(flat, settings)
  const random = seededRandom(2)
  const states = flat.places.map(({ view }) => ({
    p: Float64Array.from(view('parameters')),
    m: new Float64Array(view('parameters').length),
    v: new Float64Array(view('parameters').length),
  }))
  for (let t = 1; t <= 20; t++) {
    for (const { view } of flat.places)
      view('gradients').set(randoms(view('gradients').length, random))
    const lr = 1e-2 / t
    const stepped = adamw.step({ lr, loss: 1 })
    assert.ok(stepped.state === 'applied')
    const squares = flat.places.flatMap(({ view }) => [...view('gradients')].map((g) => g * g))
    const norm = Math.sqrt(squares.reduce((a, b) => a + b))
    assert.ok(Math.abs(stepped.gradientNorm - norm) < 1e-12)
    const scale = Math.min(1, 0.5 / (norm + 1e-6))
    flat.places.forEach(({ name, view }, i) => {
      const decay = name === 'a.norm.weight' ? 0 : 0.1
      float64Step(states[i], view('gradients'), { t, lr, decay, scale })
    })
  }
  assert.equal(adamw.steps, 20)
  flat.places.forEach(({ view }, i) => {
    for (const [region, want] of [
      ['parameters', states[i].p],
      ['firstMoments', states[i].m],
      ['secondMoments', states[i].v],
    ] as const) {
      const found = view(region)
      want.forEach((value, j) => {
        assert.ok(Math.abs(found[j] - value) < 2e-6 * (1 + Math.abs(value)), `${region}[${j}]`)
      })
    }
  })
})

/** Everything that a checkpoint keeps. */
const kept = (flat: FlatTensors) =>
  flat.places.flatMap(({ view }) =>
    (['parameters', 'firstMoments', 'secondMoments'] as const).map((region) =>
      view(region).slice(),
    ),
  )

test('adamw: a gradient or a loss that is not finite changes nothing', () => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    const flat = randomFlat(3)
    const adamw = new Adamw(flat, plainAdamw)
    adamw.step({ lr: 1e-3, loss: 1 })
    const before = kept(flat)
    assert.deepEqual(adamw.step({ lr: 1e-3, loss: bad }), { state: 'skipped', tensors: [] })
    // The last element of a tensor that is no whole number of vectors.
    flat.view('gradients', 'a.weight')[62] = bad
    const want = { state: 'skipped', tensors: ['a.weight'] }
    assert.deepEqual(adamw.step({ lr: 1e-3, loss: 1 }), want)
    assert.deepEqual(kept(flat), before)
    assert.equal(adamw.steps, 1)
  }
})

test('adamw: a gradient whose square is beyond float32 changes nothing', () => {
  for (const clip of [null, 1]) {
    const flat = randomFlat(4)
    const adamw = new Adamw(flat, { ...plainAdamw, clip })
    flat.view('gradients', 'b.weight')[32] = 9e18
    assert.equal(adamw.step({ lr: 1e-3, loss: 1 }).state, 'applied')
    const before = kept(flat)
    for (const large of [2e19, -3.4e38]) {
      flat.view('gradients', 'b.weight')[32] = large
      const want = { state: 'skipped', tensors: ['b.weight'] }
      assert.deepEqual(adamw.step({ lr: 1e-3, loss: 1 }), want)
      assert.deepEqual(kept(flat), before)
    }
    assert.equal(adamw.steps, 1)
    assert.ok(before.every((values) => values.every(Number.isFinite)))
  }
})

test('adamw: parameters never leave float32, whatever the rate and the decay', () => {
  for (const change of [{}, { clip: 1 }, { weightDecay: 0.1 }, { weightDecay: 1e30 }]) {
    const flat = randomFlat(9)
    const adamw = new Adamw(flat, { ...plainAdamw, ...change })
    let applied = 0
    for (let step = 0; step < 40; step++) {
      const stepped = adamw.step({ lr: 10 ** step, loss: 1 })
      assert.ok(
        kept(flat).every((values) => values.every(Number.isFinite)),
        `step ${step}`,
      )
      if (stepped.state === 'applied') applied++
      else assert.deepEqual(stepped.tensors, [])
    }
    assert.ok(applied >= 1 && applied < 40)
    assert.equal(adamw.steps, applied)
  }
})

test('adamw: a gradient of zero moves nothing but by decay', () => {
  const flat = randomFlat(5)
  const before = flat.view('parameters', 'b.weight').slice()
  for (const { view } of flat.places) view('gradients').fill(0)
  const adamw = new Adamw(flat, { ...plainAdamw, weightDecay: 0.5, clip: 1 })
  const stepped = adamw.step({ lr: 0.5, loss: 0 })
  assert.deepEqual(stepped, { state: 'applied', gradientNorm: 0, clipCoefficient: 1 })
  assert.deepEqual(
    flat.view('parameters', 'b.weight'),
    before.map((value) => value * 0.75),
  )
})

test('adamw: micro-batches add up', () => {
  const flat = randomFlat(6)
  const addend = Float32Array.from({ length: 33 }, (_, i) => i)
  const want = flat.view('gradients', 'b.weight').map((value, i) => Math.fround(value + 2 * i))
  const adamw = new Adamw(flat, plainAdamw)
  flat.view('addends', 'b.weight').set(addend)
  adamw.accumulate()
  adamw.accumulate()
  const found = flat.view('gradients', 'b.weight')
  want.forEach((value, i) => {
    assert.ok(Math.abs(found[i] - value) < 1e-5)
  })
  assert.deepEqual(flat.view('addends', 'b.weight'), addend)
})

test('adamw: the same bits however many memories hold the tensors', () => {
  const run = (bytesMax?: number) => {
    const flat = randomFlat(7, bytesMax)
    const adamw = new Adamw(flat, { ...plainAdamw, weightDecay: 0.01, clip: 0.1 })
    const steps = [1, 2, 3].map((lr) => adamw.step({ lr: lr * 1e-3, loss: 1 }))
    return { steps, kept: kept(flat) }
  }
  assert.deepEqual(run(), run(5 * 64 * 4))
})

test('adamw: moments taken over with their step go on to the same bits', () => {
  const straight = randomFlat(8)
  const one = new Adamw(straight, plainAdamw)
  one.step({ lr: 1e-3, loss: 1 })
  const resumed = new FlatTensors(shapes)
  for (const region of ['parameters', 'gradients', 'firstMoments', 'secondMoments'] as const) {
    resumed.fill(region, copies(straight, region))
  }
  one.step({ lr: 1e-3, loss: 1 })
  new Adamw(resumed, plainAdamw, 1).step({ lr: 1e-3, loss: 1 })
  assert.deepEqual(kept(resumed), kept(straight))
})

const copies = (flat: FlatTensors, region: Region) =>
  new Map(flat.places.map(({ name, view }) => [name, view(region).slice()]))
