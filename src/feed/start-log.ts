/** Which order log a training goes on with, or begins with. */
import { Failure } from '../failure.ts'
import { OrderLog, type OrderRule } from './order-log.ts'
import { makeSplit, type SplitWanted } from './split.ts'

/** What a training wants of its data, as configured now. */
export interface WantedOrder {
  readonly rule: OrderRule
  /** Null: nothing is held out. */
  readonly split: SplitWanted | null
}

export interface LogSources {
  readonly training: string
  /** From the checkpoint that is resumed. */
  readonly given: OrderLog | undefined
  /** From this machine: it may have gone further than the checkpoint. */
  readonly here: OrderLog | undefined
}

/**
 * @param hashes  of all samples that could be trained on, for a split that is made now
 * @throws        Failure `invalid`: the checkpoint's order is of another training, or of another
 *                configuration: its plan numbers would mean other batches
 */
export function startLog(
  { training, given, here }: LogSources,
  wanted: WantedOrder,
  hashes: () => Uint8Array,
): OrderLog {
  if (given && given.training !== training) {
    const facts = `want=${training}, found=${given.training}`
    throw new Failure('invalid', `the order log is of another training. ${facts}`)
  }
  const ours = here?.training === training ? here : undefined
  // What was read here since the checkpoint goes on as it was; another's past does not.
  const log = ours && (!given || given.isStartOf(ours)) ? ours : given
  if (!log) {
    const split = wanted.split && makeSplit(hashes(), wanted.split)
    return new OrderLog({ training, rule: wanted.rule, split })
  }
  requireSame(log, wanted)
  return log
}

function requireSame(log: OrderLog, wanted: WantedOrder): void {
  const now = orderSettings(wanted)
  const differences = Object.entries(orderSettings(log))
    .filter(([name, value]) => now[name] !== value)
    .map(([name, value]) => `train.${name}: training=${value}, now=${now[name]}`)
  if (differences.length === 0) return
  throw new Failure(
    'invalid',
    ['the training was begun with other settings of its data.', ...differences].join('\n  '),
    { remedy: 'Set these as they were, or begin another training with `train --new`.' },
  )
}

/** What an order follows from, by the names of the configuration. */
export const orderSettings = ({
  rule: { seed, shuffleWindow, tokensPerBatch, anchorRule, blockSize },
  split,
}: WantedOrder): Readonly<Record<string, unknown>> => ({
  ...{ seed, shuffleWindow, tokensPerBatch, anchorRule, blockSize },
  heldOut: split?.share ?? null,
})
