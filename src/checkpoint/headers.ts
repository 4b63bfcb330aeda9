/** What a checkpoint's files say of themselves, without the bytes of their parameters. */
import { Failure } from '../failure.ts'
import { headerEnd, parseHeader, prefixBytes, type TensorInfo } from '../safetensors/header.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Headers } from './accept.ts'
import type { WholeCheckpoint } from './list.ts'
import { fileKey } from './names.ts'

/** @throws Failure `corrupt`: a file is gone, or has no header that fits it */
export async function readHeaders(
  store: ObjectStore,
  checkpoint: WholeCheckpoint,
): Promise<Headers> {
  const of = async (file: 'model' | 'optimizer') => {
    const key = fileKey(checkpoint.name, file)
    const about = { name: key, bytes: checkpoint.state.files[file].bytes }
    const end = headerEnd(await part(store, key, { start: 0, end: prefixBytes }), about)
    return parseHeader(await part(store, key, { start: 0, end }), about).tensors
  }
  return { name: checkpoint.name, model: await of('model'), optimizer: await of('optimizer') }
}

async function part(
  store: ObjectStore,
  key: string,
  { start, end }: Pick<TensorInfo, 'start' | 'end'>,
): Promise<Buffer> {
  const bytes = await store.get(key, { start, end })
  if (bytes?.length === end - start) return bytes
  const found = bytes?.length ?? 'none'
  const facts = `key=${key}, want=${end - start} bytes from ${start}, found=${found}`
  throw new Failure('corrupt', `a file of a checkpoint is not what was saved. ${facts}`)
}
