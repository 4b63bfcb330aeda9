/** Which checkpoints stay, and how the others go. */
import { probe } from '../probe.ts'
import type { ObjectStore } from '../store/store.ts'
import { type CheckpointName, compareCheckpoints, evaluationKey, fileKey } from './names.ts'
import type { CheckpointState } from './state.ts'

export interface RetainRule {
  /** The newest so many. */
  readonly last: number
  /** Of each stretch of so many steps the first checkpoint; null: none for this. */
  readonly every: number | null
}

/** What a checkpoint is ranked by. */
export interface Ranked extends CheckpointName {
  readonly state: Pick<CheckpointState, 'heldOutLoss' | 'tau'>
}

/**
 * Those of one training that go: neither among the last, nor the first of a stretch, nor the best
 * by held-out loss or by simulated acceptance length. Of several of one step the last saved counts,
 * and the others go.
 */
export function toRemove<C extends Ranked>(
  checkpoints: readonly C[],
  { last, every }: RetainRule,
): C[] {
  const all = [...checkpoints].sort(compareCheckpoints)
  const ofStep = new Map(all.map((one) => [one.step, one]))
  const steps = [...ofStep.values()]
  const stays = new Set([
    ...steps.slice(-last),
    ...(every === null ? [] : firstOfStretches(steps, every)),
    ...best(steps, ({ state }) => (state.heldOutLoss === null ? null : -state.heldOutLoss)),
    ...best(steps, ({ state }) => state.tau),
  ])
  return all.filter((one) => !stays.has(one))
}

function firstOfStretches<C extends Ranked>(steps: readonly C[], every: number): C[] {
  const first = new Map<number, C>()
  for (const one of steps) {
    const stretch = Math.floor(one.step / every)
    if (!first.has(stretch)) first.set(stretch, one)
  }
  return [...first.values()]
}

/** Of equals the later; none where none was measured. */
function best<C extends Ranked>(steps: readonly C[], score: (checkpoint: C) => number | null): C[] {
  let found: { readonly one: C; readonly score: number } | undefined
  for (const one of steps) {
    const its = score(one)
    if (its !== null && (!found || its >= found.score)) found = { one, score: its }
  }
  return found ? [found.one] : []
}

/**
 * Removes a checkpoint's files, half or whole: first what makes it one, so that whoever dies on the
 * way leaves nothing that looks like one.
 */
export async function removeCheckpoint(store: ObjectStore, name: string): Promise<void> {
  for (const file of ['state', 'model', 'optimizer'] as const) {
    await store.remove(fileKey(name, file))
    probe(`checkpoint.${file}-removed`)
  }
  await store.remove(evaluationKey(name))
}
