import { request } from '../../../protocol/contract.ts'
import type { Way } from './puppet-contract.ts'

/** An actor that asks the puppet on behalf of a test. */
export const askerContract = {
  /** Asks once. */
  job: request<Way, number>(),
  /** Asks until the puppet answers. */
  jobAgain: request<Way, number>(),
}
