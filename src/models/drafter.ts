/** A drafter as it lies on disk: config.json and safetensors, as z-lab publishes them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { readTensor } from '../safetensors/read.ts'
import { elements } from '../tensor/tensor.ts'
import { type DraftVocab, draftVocabOf } from './draft-vocab.ts'
import { type DrafterConfig, parseDrafterConfig } from './drafter-config.ts'
import { requireTensors } from './drafter-tensors.ts'
import { openWeights, type Weights, type WeightsFile } from './weights.ts'

/** Opened: headers are read, weights stay on disk. */
export interface Drafter {
  readonly dir: string
  readonly config: DrafterConfig
  /** Their files are named so that they can stand beside a target's. */
  readonly weights: Weights
  /** Null: it drafts from all of the target's vocabulary. */
  readonly draftVocab: DraftVocab | null
}

/**
 * @throws  Failure `invalid`: no drafter there, one that is not supported, or tensors that are
 *          missing, left over or of another shape, all of them named; `corrupt`: damaged
 */
export async function openDrafter(dir: string): Promise<Drafter> {
  const path = join(dir, 'config.json')
  const config = parseDrafterConfig(await readJson(path, dir), path)
  const weights = renamed(await openWeights(dir))
  requireTensors(config, weights.tensors, dir)
  const draftVocab = config.draftVocabSize === null ? null : await readVocab(weights)
  return { dir, config, weights, draftVocab }
}

async function readVocab({ tensors }: Weights): Promise<DraftVocab | null> {
  const [d2t, t2d] = ['d2t', 't2d'].map((name) => tensors.get(name))
  if (!d2t || !t2d) return null
  const offsets = await readTensor(d2t.file, 'd2t')
  const kept = await readTensor(t2d.file, 't2d')
  return draftVocabOf(elements(offsets, 'I64'), elements(kept, 'BOOL'))
}

async function readJson(path: string, dir: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new Failure('invalid', `no drafter there. dir=${dir}, want=config.json in it`, { cause })
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Failure('invalid', `drafter config is no JSON. file=${path}`, { cause })
  }
}

function renamed(weights: Weights): Weights {
  const files = new Map<WeightsFile, WeightsFile>()
  for (const file of weights.files) files.set(file, { ...file, name: `drafter-${file.name}` })
  const tensors = [...weights.tensors].map(
    ([name, weight]) => [name, { ...weight, file: files.get(weight.file) ?? weight.file }] as const,
  )
  return { ...weights, files: [...files.values()], tensors: new Map(tensors) }
}
