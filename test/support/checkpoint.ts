/** Variants of a checkpoint for tests: rewritten, sharded, damaged. */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSafetensors } from '../../src/safetensors/read.ts'
import { encodeSafetensors } from '../../src/safetensors/write.ts'
import { float32ToFloat16 } from '../../src/tensor/float16.ts'
import { float32Elements, type Tensor } from '../../src/tensor/tensor.ts'

export const weightsOf = (dir: string): Tensor[] => [
  ...readSafetensors(readFileSync(join(dir, 'model.safetensors')), dir).tensors.values(),
]

export const configOf = (dir: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(dir, 'config.json'), 'utf8'))

export async function writeCheckpoint(
  dir: string,
  config: Record<string, unknown>,
  tensors: readonly Tensor[],
): Promise<string> {
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, 'config.json'), JSON.stringify(config))
  await writeFile(join(dir, 'model.safetensors'), encodeSafetensors(tensors))
  return dir
}

/** The same tensors dealt out over files, with the index that names them. */
export async function writeShards(
  dir: string,
  config: Record<string, unknown>,
  { tensors, count }: { readonly tensors: readonly Tensor[]; readonly count: number },
): Promise<string> {
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, 'config.json'), JSON.stringify(config))
  const weight_map: Record<string, string> = {}
  for (let shard = 0; shard < count; shard++) {
    const name = `model-0000${shard + 1}-of-0000${count}.safetensors`
    const inside = tensors.filter((_, i) => i % count === shard)
    for (const tensor of inside) weight_map[tensor.name] = name
    await writeFile(join(dir, name), encodeSafetensors(inside))
  }
  await writeFile(join(dir, 'model.safetensors.index.json'), JSON.stringify({ weight_map }))
  return dir
}

/** The tensor in another type; from BF16 to F32 nothing is lost. */
export function retyped(tensor: Tensor, dtype: 'F32' | 'F16'): Tensor {
  const wide = float32Elements(tensor)
  const values = dtype === 'F32' ? wide : float32ToFloat16(wide)
  return { ...tensor, dtype, data: new Uint8Array(values.buffer) }
}
