import type { StoredDType } from '../models/hidden-states.ts'
import type { TensorInfo } from '../safetensors/header.ts'
import { statesDType } from '../tensor/dtype.ts'

/** What a sample file holds, and as what. */

export const statesName = 'hidden_states'
export const idsName = 'token_ids'

export interface StatesShape {
  readonly tokens: number
  /** Captured layers, the state after the final norm among them. */
  readonly captures: number
  readonly hidden: number
  readonly dtype: StoredDType
}

/** Whether names, types and shapes are as a run writes them; null where they are. */
export function shapeProblem(
  tensors: ReadonlyMap<string, Pick<TensorInfo, 'dtype' | 'shape'>>,
  { tokens, captures, hidden, dtype }: StatesShape,
): string | null {
  const want = new Map([
    [statesName, `${statesDType[dtype]} [${[tokens, captures, hidden]}]`],
    [idsName, `I64 [${tokens}]`],
  ])
  for (const [name, is] of want) {
    const tensor = tensors.get(name)
    const found = tensor ? `${tensor.dtype} [${tensor.shape}]` : 'none'
    if (found !== is) return `tensor ${name}: want=${is}, found=${found}`
  }
  const others = [...tensors.keys()].filter((name) => !want.has(name))
  return others.length === 0 ? null : `other tensors: found=${others.join(', ')}`
}
