/** The learning rate of each optimizer step: warm-up, then a curve. */
import { Failure } from '../failure.ts'

export interface ScheduleSettings {
  /** After warm-up: half a cosine to the end; a plateau and half a cosine; or the plateau alone. */
  readonly schedule: 'cosine' | 'wsd' | 'constant'
  /** The highest rate. */
  readonly lr: number
  /** What a decay ends at, reached one step after the last. */
  readonly minLr: number
  /** Steps of the whole training. */
  readonly steps: number
  /** Share of the steps over which the rate rises. */
  readonly warmup: number
  /**
   * The rate of the first step: of the rise's `n` steps, `one-step` gives step `i` the share
   * (i + 1) ÷ n, `zero` the share i ÷ n, so that the first step changes nothing.
   */
  readonly warmupFrom: 'one-step' | 'zero'
  /** Share of the steps over which `wsd` decays at the end. */
  readonly decayShare: number
}

/**
 * `zero` with `cosine`, `constant` and `wsd` is TorchSpec's curve. `one-step` with `cosine` is that
 * of SpecForge less a quirk: its class passes the peak after warm-up, by the factor
 * 2 ÷ (1 + cos(π ÷ steps after warm-up)), and stays that factor above; here `lr` is the highest.
 *
 * @returns  the rate of step 0, 1, …; past the end, that of the end
 * @throws   Failure `invalid`: settings that make no schedule
 */
export function lrSchedule(settings: ScheduleSettings): (step: number) => number {
  requireSchedule(settings)
  const { schedule, lr, minLr, steps, warmupFrom } = settings
  const rise = shareOf(settings.warmup, steps)
  const decayFrom = {
    cosine: rise,
    wsd: Math.max(rise, steps - shareOf(settings.decayShare, steps)),
    constant: Number.POSITIVE_INFINITY,
  }[schedule]
  const risen = warmupFrom === 'one-step' ? 1 : 0
  return (step) => {
    if (step < rise) return (lr * (step + risen)) / rise
    if (step <= decayFrom) return lr
    const done = Math.min(1, (step - decayFrom) / (steps - decayFrom))
    return minLr + ((lr - minLr) * (1 + Math.cos(Math.PI * done))) / 2
  }
}

/** Whole steps: 29 % of 100 are 29, though 0.29 × 100 is a little less. */
const shareOf = (share: number, steps: number): number => Math.floor(share * steps + 1e-9)

function requireSchedule({ lr, minLr, steps, warmup, decayShare }: ScheduleSettings): void {
  const wrong = (fact: string) => new Failure('invalid', `no such learning-rate schedule. ${fact}`)
  if (!(lr > 0 && Number.isFinite(lr))) throw wrong(`lr=${lr}, want=more than 0`)
  if (!(minLr >= 0 && minLr <= lr)) throw wrong(`minLr=${minLr}, want=0 to lr=${lr}`)
  if (!(Number.isInteger(steps) && steps > 0)) throw wrong(`steps=${steps}, want=1 or more`)
  if (!(warmup >= 0 && warmup <= 1)) throw wrong(`warmup=${warmup}, want=0 to 1`)
  if (!(decayShare >= 0 && decayShare <= 1)) throw wrong(`decayShare=${decayShare}, want=0 to 1`)
}
