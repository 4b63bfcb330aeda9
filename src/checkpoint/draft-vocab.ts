/** Which tokens the drafter of a checkpoint drafts, read without the rest of its tensors. */
import { Failure } from '../failure.ts'
import { type DraftVocab, draftVocabOf } from '../models/draft-vocab.ts'
import { headerEnd, parseHeader, prefixBytes, type TensorInfo } from '../safetensors/header.ts'
import type { ObjectStore } from '../store/store.ts'
import { elements } from '../tensor/tensor.ts'
import { fileKey } from './names.ts'

/**
 * @param name  of a checkpoint whose drafter drafts from a part of the vocabulary
 * @throws      Failure `corrupt`: its file is gone or cut short, or has no such maps; `invalid`:
 *              the maps disagree
 */
export async function draftVocabIn(store: ObjectStore, name: string): Promise<DraftVocab> {
  const key = fileKey(name, 'model')
  const read = async (start: number, end: number): Promise<Buffer> => {
    const bytes = await store.get(key, { start, end })
    if (bytes?.length === end - start) return bytes
    const facts = `file=${key}, want=${end - start} bytes from ${start}, found=${bytes?.length}`
    throw new Failure('corrupt', `file of a checkpoint is cut short. ${facts}`)
  }
  const file = { name: key, bytes: (await store.head(key))?.size ?? 0 }
  const end = headerEnd(await read(0, prefixBytes), file)
  const { tensors } = parseHeader(await read(0, end), file)
  const map = async (of: string) => {
    const info: TensorInfo | undefined = tensors.get(of)
    if (info) return { ...info, name: of, data: await read(info.start, info.end) }
    throw new Failure('corrupt', `a checkpoint lacks its draft vocabulary. file=${key}, map=${of}`)
  }
  return draftVocabOf(elements(await map('d2t'), 'I64'), elements(await map('t2d'), 'BOOL'))
}
