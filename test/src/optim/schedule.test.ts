import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { lrSchedule, type ScheduleSettings } from '../../../src/optim/schedule.ts'
import { goldenJson } from '../../support/golden.ts'

interface Curve {
  trainer: 'SpecForge' | 'TorchSpec'
  style: string
  max_lr: number
  min_lr: number
  total_steps: number
  warmup_steps: number
  wsd_decay_steps?: number
  lr_used_at_step: number[]
}

const curves = goldenJson('dflash', 'lr_schedules.json') as Curve[]

function goldenCurve(trainer: Curve['trainer'], style: string): Curve {
  const found = curves.find((curve) => curve.trainer === trainer && curve.style === style)
  assert.ok(found, `${trainer} ${style}`)
  return found
}

const settingsOf = (curve: Curve): Omit<ScheduleSettings, 'schedule' | 'warmupFrom'> => ({
  lr: curve.max_lr,
  minLr: curve.min_lr,
  steps: curve.total_steps,
  warmup: curve.warmup_steps / curve.total_steps,
  decayShare: (curve.wsd_decay_steps ?? 0) / curve.total_steps,
})

function assertCurve(found: (step: number) => number, want: readonly number[]): void {
  want.forEach((lr, step) => {
    assert.ok(Math.abs(found(step) - lr) <= 1e-12 * lr, `step ${step}: ${found(step)} for ${lr}`)
  })
}

for (const [schedule, style] of [
  ['cosine', 'cosine'],
  ['wsd', 'WSD'],
  ['constant', 'constant'],
] as const) {
  test(`schedule: ${schedule} from zero is TorchSpec's`, () => {
    const curve = goldenCurve('TorchSpec', style)
    const found = lrSchedule({ ...settingsOf(curve), schedule, warmupFrom: 'zero' })
    assertCurve(found, curve.lr_used_at_step)
    assert.equal(found(0), 0)
  })
}

test("schedule: cosine from one step is SpecForge's, less the part above the peak", () => {
  const curve = goldenCurve('SpecForge', 'cosine')
  const found = lrSchedule({
    ...settingsOf(curve),
    schedule: 'cosine',
    warmupFrom: 'one-step',
  })
  const rise = curve.warmup_steps
  const above = 2 / (1 + Math.cos(Math.PI / (curve.total_steps - rise)))
  const want = curve.lr_used_at_step.map((lr, step) => (step < rise ? lr : lr / above))
  assertCurve(found, want)
  assert.ok(curve.lr_used_at_step[rise] > curve.max_lr)
  assert.ok(want.every((_, step) => found(step) <= curve.max_lr))
})

const base: ScheduleSettings = {
  schedule: 'cosine',
  lr: 1,
  minLr: 0,
  steps: 100,
  warmup: 0.07,
  warmupFrom: 'one-step',
  decayShare: 0.29,
}

test('schedule: shares are whole steps, however they are rounded in binary', () => {
  const cosine = lrSchedule(base)
  assert.equal(cosine(5), 6 / 7)
  assert.equal(cosine(6), 1)
  assert.equal(cosine(7), 1)
  assert.ok(cosine(8) < 1)
  const wsd = lrSchedule({ ...base, schedule: 'wsd' })
  assert.equal(wsd(71), 1)
  assert.ok(wsd(72) < 1)
})

test('schedule: past the end the rate stays; the shortest trainings have one', () => {
  const cosine = lrSchedule({ ...base, minLr: 0.1 })
  for (const step of [100, 101, 5000]) assert.ok(Math.abs(cosine(step) - 0.1) < 1e-12)
  for (const schedule of ['cosine', 'wsd', 'constant'] as const) {
    for (const [steps, warmup] of [
      [1, 0],
      [1, 1],
      [2, 0.5],
      [3, 1],
    ]) {
      const found = lrSchedule({ ...base, schedule, steps, warmup, decayShare: 1 })
      for (let step = 0; step <= steps; step++) assert.ok(found(step) >= 0 && found(step) <= 1)
      assert.ok(found(0) > 0)
    }
  }
})

test('schedule: settings that make none are refused by name', () => {
  for (const [wrong, want] of [
    [{ lr: 0 }, /lr=0, want=more than 0/],
    [{ lr: -1 }, /lr=-1/],
    [{ lr: Number.NaN }, /lr=NaN/],
    [{ minLr: 2 }, /minLr=2, want=0 to lr=1/],
    [{ steps: 0 }, /steps=0/],
    [{ steps: 1.5 }, /steps=1\.5/],
    [{ warmup: 1.1 }, /warmup=1\.1/],
    [{ decayShare: -0.1 }, /decayShare=-0\.1/],
  ] as const) {
    assert.throws(
      () => lrSchedule({ ...base, ...wrong }),
      (error) => isFailure(error, 'invalid') && want.test(error.message),
    )
  }
})
