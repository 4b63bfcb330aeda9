import type { RunIdentity } from '../../src/run/identity.ts'
import { readTraining } from '../../src/run/training-record.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { comparedWith } from '../run/begun-training.ts'
import type { PreparedTraining } from '../run/preflight.ts'
import type { Seen } from './findings.ts'

/**
 * Whether a run can go on with the training that its store tells of.
 *
 * @throws  Failure: what the preflight of a run would refuse it for
 */
export async function lookAtBegun(
  store: ObjectStore,
  run: { readonly identity: RunIdentity; readonly training: PreparedTraining },
): Promise<Seen<null>> {
  const found = await readTraining(store)
  if (!found) return ['none has begun: a run begins one', null]
  const { training } = found.record
  const { changes, goesOn } = await comparedWith(store, run, found.record)
  if (changes.length === 0) return [`a run goes on with training ${training}`, null]
  const others = changes.join('; ')
  if (goesOn === null) {
    return [`nothing of training ${training} was saved`, null, `A run begins another: ${others}.`]
  }
  const note = `What follows is trained as configured now: ${others}.`
  return [`a run goes on with training ${training}, which began otherwise`, null, note]
}
