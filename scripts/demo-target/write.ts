/** A trained target as a checkpoint directory. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeSafetensors } from '../../src/safetensors/write.ts'
import { float32ToBfloat16 } from '../../src/tensor/bfloat16.ts'
import type { Training } from './training.ts'

export async function writeTarget(
  dir: string,
  { configJson, training }: { readonly configJson: object; readonly training: Training },
): Promise<void> {
  const tensors = training.tensors.map(({ name, shape }) => {
    const bits = float32ToBfloat16(training.parameters(name))
    const data = new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength)
    return { name, dtype: 'BF16' as const, shape, data }
  })
  mkdirSync(dir, { recursive: true })
  const bytes = Buffer.concat(encodeSafetensors(tensors, { format: 'pt' }))
  writeFileSync(join(dir, 'model.safetensors'), bytes)
  writeFileSync(join(dir, 'config.json'), `${JSON.stringify(configJson, null, 2)}\n`)
}
