/** Embedding and head of the target that the drafters of test/golden/dflash belong to. */
import { readFileSync } from 'node:fs'
import { frozenNames } from '../../../src/models/frozen.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { golden } from '../golden.ts'
import { floatsOf } from './cases.ts'

export function goldenFrozen(): Record<string, Float32Array> {
  const path = golden('targets', 'qwen3_tied_f32', 'model.safetensors')
  const { embedding } = frozenNames(true)
  return { [embedding]: floatsOf(readSafetensors(readFileSync(path), path), embedding) }
}
