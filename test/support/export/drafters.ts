import type { DrafterToExport } from '../../../src/export/zlab.ts'
import { elements } from '../../../src/tensor/tensor.ts'
import { drafterConfig, goldenTensors } from '../training/cases.ts'

/** A drafter of test/golden/dflash, as a checkpoint would give it. */
export function goldenDrafter(name: string): DrafterToExport {
  const { tensors } = goldenTensors(name, 'model.safetensors')
  return {
    config: drafterConfig(name),
    tensors: [...tensors.values()].map((tensor) => ({
      name: tensor.name,
      shape: tensor.shape,
      values: elements(tensor, 'F32'),
    })),
    draftVocab: null,
    head: null,
    from: name,
  }
}
