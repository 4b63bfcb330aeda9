import { Failure } from '../failure.ts'
import type { Drafter } from '../models/drafter.ts'
import { readTensor } from '../safetensors/read.ts'
import { hasNonFinite } from '../tensor/finite.ts'

/**
 * Reads every byte of a drafter: one that holds a NaN drafts nonsense, and nothing else would tell.
 *
 * @throws  Failure `invalid`: a parameter is not finite; names it
 */
export async function requireFinite({ weights }: Drafter): Promise<void> {
  for (const [name, { file, dtype }] of weights.tensors) {
    if (dtype !== 'F32' && dtype !== 'F16' && dtype !== 'BF16') continue
    const { data } = await readTensor(file, name)
    if (!hasNonFinite(data, dtype)) continue
    const facts = `file=${file.path}, tensor=${name}`
    throw new Failure('invalid', `a parameter of the drafter is not finite. ${facts}`, {
      remedy: 'Use an earlier checkpoint of it.',
    })
  }
}
