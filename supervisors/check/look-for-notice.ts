import type { PreemptionConfig } from '../../src/config/schema.ts'
import { Failure } from '../../src/failure.ts'
import { momentNow, placeText, timeLeftIn } from '../run/preemption-notice.ts'
import type { Seen } from './findings.ts'

/**
 * Of a metadata service it is only told that it is asked: elsewhere than on its cloud none answers.
 *
 * @throws  Failure `invalid`: a notice lies there already, and a run would stop at once
 */
export async function lookForNotice(preemption: PreemptionConfig): Promise<Seen<null>> {
  const { everySeconds, file } = preemption
  const looked = `looked for ${placeText(preemption)} every ${everySeconds} s`
  if (file === undefined) return [looked, null]
  if ((await timeLeftIn(file, momentNow(preemption))) === null) return [looked, null]
  throw new Failure('invalid', `a notice lies there, so a run stops at once. file=${file}`, {
    remedy: 'Remove the file if it is old.',
  })
}
