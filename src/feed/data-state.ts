/** What a checkpoint keeps of a training's data, as JSON. */
import { z } from 'zod'
import { Failure } from '../failure.ts'
import { OrderLog } from './order-log.ts'

const schema = z.strictObject({
  /** The first batch that the trained weights have not seen. */
  plan: z.int().nonnegative(),
  /** The order log, base64: the split and the rule are in it. */
  order: z.base64(),
})

/** Where the data of a training stand, as a checkpoint's `state.json` has it. */
export type DataState = z.output<typeof schema>

/** @param order  as `OrderLog.encode` gives it */
export const dataState = (plan: number, order: Uint8Array): DataState => ({
  plan,
  order: Buffer.from(order.buffer, order.byteOffset, order.length).toString('base64'),
})

/**
 * @returns  the cursor; the log as a resume gives it to whoever serves the data, and what it says
 * @throws   Failure `corrupt`: it is no such state; `invalid`: of another version
 */
export function parseDataState(json: unknown): {
  readonly plan: number
  readonly record: Buffer
  readonly log: OrderLog
} {
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    throw new Failure('corrupt', 'the state of the data in a checkpoint cannot be read', {
      cause: parsed.error,
      remedy: 'Resume from an earlier checkpoint.',
    })
  }
  const record = Buffer.from(parsed.data.order, 'base64')
  return { plan: parsed.data.plan, record, log: OrderLog.decode(record) }
}
